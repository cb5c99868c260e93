import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";

const modelsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/models",
  component: lazyRouteComponent(() => import("./ModelsScreen"), "ModelsScreen"),
});

const modelVersionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/models/versions/$versionId",
  component: lazyRouteComponent(() => import("./ModelVersionScreen"), "ModelVersionScreen"),
});

const modelRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/models/$model",
  component: lazyRouteComponent(() => import("./ModelScreen"), "ModelScreen"),
});

export const modelsRoutes = [modelsRoute, modelVersionRoute, modelRoute] as const;
