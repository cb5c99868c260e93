import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";
import { asCount, asText, searchParams } from "../../ui/navigation/search";
import { traceSearch } from "./list/filters";

const tracesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/traces",
  validateSearch: traceSearch,
  component: lazyRouteComponent(() => import("./list/TracesScreen"), "TracesScreen"),
});

const traceCompareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/traces/compare",
  validateSearch: searchParams({ base: asText, other: asText }),
  component: lazyRouteComponent(() => import("./compare/TraceCompareScreen"), "TraceCompareScreen"),
});

const traceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/traces/$traceId",
  component: lazyRouteComponent(() => import("./trace/TraceScreen"), "TraceScreen"),
});

const workbenchRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/traces/$traceId/workbench",
  validateSearch: searchParams({ step: asCount }),
  component: lazyRouteComponent(() => import("./workbench/WorkbenchScreen"), "WorkbenchScreen"),
});

export const tracesRoutes = [tracesRoute, traceCompareRoute, traceRoute, workbenchRoute] as const;
