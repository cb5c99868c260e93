import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";

const launchRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/launch",
  component: lazyRouteComponent(() => import("./LaunchScreen"), "LaunchScreen"),
});

export const launchRoutes = [launchRoute] as const;
