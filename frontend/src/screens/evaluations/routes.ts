import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";

const evaluationsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evaluations",
  component: lazyRouteComponent(() => import("./EvaluationsScreen"), "EvaluationsScreen"),
});

const flipBoardRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evaluations/compare",
  component: lazyRouteComponent(() => import("./FlipBoardScreen"), "FlipBoardScreen"),
});

const evaluationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evaluations/$evaluationId",
  component: lazyRouteComponent(() => import("./EvaluationScreen"), "EvaluationScreen"),
});

const evaluationItemRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evaluations/$evaluationId/items/$itemId",
  component: lazyRouteComponent(() => import("./EvaluationItemScreen"), "EvaluationItemScreen"),
});

export const evaluationsRoutes = [evaluationsRoute, flipBoardRoute, evaluationRoute, evaluationItemRoute] as const;
