import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../../ui/navigation/root";
import { launchSearch } from "./search";

const launchRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/launch",
  validateSearch: launchSearch,
  component: lazyRouteComponent(() => import("./LaunchScreen"), "LaunchScreen"),
});

export const launchRoutes = [launchRoute] as const;
