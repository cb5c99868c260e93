import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../../ui/navigation/root";
import { asFlag, asText, searchParams } from "../../../ui/navigation/search";

const gatesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/gates",
  validateSearch: searchParams({ making: asFlag, evaluation: asText }),
  component: lazyRouteComponent(() => import("./GatesScreen"), "GatesScreen"),
});

const gateRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/gates/$name",
  validateSearch: searchParams({ evaluation: asText }),
  component: lazyRouteComponent(() => import("./GateScreen"), "GateScreen"),
});

export const gatesRoutes = [gatesRoute, gateRoute] as const;
