import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";
import { asFlag, asOneOf, asText, searchParams } from "../../ui/navigation/search";
import { VERSION_TABS } from "./version/tabs";

const modelsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/models",
  validateSearch: searchParams({ registering: asFlag, run: asText }),
  component: lazyRouteComponent(() => import("./list/ModelsScreen"), "ModelsScreen"),
});

const modelVersionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/models/versions/$versionId",
  validateSearch: searchParams({ tab: asOneOf(VERSION_TABS) }),
  component: lazyRouteComponent(() => import("./version/ModelVersionScreen"), "ModelVersionScreen"),
});

const modelRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/models/$model",
  component: lazyRouteComponent(() => import("./model/ModelScreen"), "ModelScreen"),
});

export const modelsRoutes = [modelsRoute, modelVersionRoute, modelRoute] as const;
