import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";
import { asText, asTexts, searchParams } from "../../ui/navigation/search";
import { buildSearch } from "./build/form";
import { datasetSearch } from "./detail/search";
import { diffSearch } from "./diff/search";
import { xraySearch } from "./xray/search";

const datasetsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/datasets",
  validateSearch: searchParams({ text: asText, chosen: asTexts }),
  component: lazyRouteComponent(() => import("./list/DatasetsScreen"), "DatasetsScreen"),
});

const datasetBuildRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/datasets/new",
  validateSearch: buildSearch,
  component: lazyRouteComponent(() => import("./build/DatasetBuildScreen"), "DatasetBuildScreen"),
});

const datasetRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/datasets/$datasetKey",
  validateSearch: datasetSearch,
  component: lazyRouteComponent(() => import("./detail/DatasetScreen"), "DatasetScreen"),
});

const datasetDiffRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/datasets/$datasetKey/diff",
  validateSearch: diffSearch,
  component: lazyRouteComponent(() => import("./diff/DatasetDiffScreen"), "DatasetDiffScreen"),
});

const xrayRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/datasets/$datasetKey/xray",
  validateSearch: xraySearch,
  component: lazyRouteComponent(() => import("./xray/XrayScreen"), "XrayScreen"),
});

export const datasetsRoutes = [datasetsRoute, datasetBuildRoute, datasetRoute, datasetDiffRoute, xrayRoute] as const;
