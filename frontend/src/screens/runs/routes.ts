import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";
import { runFilters } from "./filters";
import { runTabs } from "./run/tabs";

const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs",
  validateSearch: runFilters,
  component: lazyRouteComponent(() => import("./RunsScreen"), "RunsScreen"),
});

const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs/$runId",
  validateSearch: runTabs,
  component: lazyRouteComponent(() => import("./RunScreen"), "RunScreen"),
});

export const runsRoutes = [runsRoute, runRoute] as const;
