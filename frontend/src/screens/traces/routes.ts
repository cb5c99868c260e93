import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";

const tracesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/traces",
  component: lazyRouteComponent(() => import("./TracesScreen"), "TracesScreen"),
});

const traceCompareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/traces/compare",
  component: lazyRouteComponent(() => import("./TraceCompareScreen"), "TraceCompareScreen"),
});

const traceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/traces/$traceId",
  component: lazyRouteComponent(() => import("./TraceScreen"), "TraceScreen"),
});

const workbenchRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/traces/$traceId/workbench",
  component: lazyRouteComponent(() => import("./WorkbenchScreen"), "WorkbenchScreen"),
});

export const tracesRoutes = [tracesRoute, traceCompareRoute, traceRoute, workbenchRoute] as const;
