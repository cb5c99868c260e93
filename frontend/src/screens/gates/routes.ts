import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";

const gatesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/gates",
  component: lazyRouteComponent(() => import("./GatesScreen"), "GatesScreen"),
});

const gateRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/gates/$name",
  component: lazyRouteComponent(() => import("./GateScreen"), "GateScreen"),
});

export const gatesRoutes = [gatesRoute, gateRoute] as const;
