import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";
import { runSearch } from "./list/filters";
import { runTabs } from "./run/tabs";

const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs",
  validateSearch: runSearch,
  component: lazyRouteComponent(() => import("./list/RunsScreen"), "RunsScreen"),
});

const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs/$runId",
  validateSearch: runTabs,
  component: lazyRouteComponent(() => import("./run/RunScreen"), "RunScreen"),
});

export const runsRoutes = [runsRoute, runRoute] as const;
