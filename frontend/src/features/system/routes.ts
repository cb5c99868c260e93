import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  component: lazyRouteComponent(() => import("./HomeScreen"), "HomeScreen"),
});

export const homeRoutes = [homeRoute] as const;
