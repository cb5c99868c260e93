import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";

const datasetsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/datasets",
  component: lazyRouteComponent(() => import("./DatasetsScreen"), "DatasetsScreen"),
});

const datasetBuildRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/datasets/new",
  component: lazyRouteComponent(() => import("./DatasetBuildScreen"), "DatasetBuildScreen"),
});

const datasetRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/datasets/$datasetKey",
  component: lazyRouteComponent(() => import("./DatasetScreen"), "DatasetScreen"),
});

const datasetDiffRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/datasets/$datasetKey/diff",
  component: lazyRouteComponent(() => import("./DatasetDiffScreen"), "DatasetDiffScreen"),
});

const xrayRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/datasets/$datasetKey/xray",
  component: lazyRouteComponent(() => import("./XrayScreen"), "XrayScreen"),
});

export const datasetsRoutes = [datasetsRoute, datasetBuildRoute, datasetRoute, datasetDiffRoute, xrayRoute] as const;
