import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";
import { evaluationFilters, evaluationSearch, comparisonSearch, itemSearch } from "./filters";

const evaluationsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evaluations",
  validateSearch: evaluationFilters,
  component: lazyRouteComponent(() => import("./list/EvaluationsScreen"), "EvaluationsScreen"),
});

const comparisonRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evaluations/compare",
  validateSearch: comparisonSearch,
  component: lazyRouteComponent(() => import("./comparison/ComparisonScreen"), "ComparisonScreen"),
});

const reportsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evaluations/faithfulness",
  component: lazyRouteComponent(() => import("./faithfulness/ReportsScreen"), "ReportsScreen"),
});

const reportRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evaluations/faithfulness/$reportId",
  component: lazyRouteComponent(() => import("./faithfulness/ReportScreen"), "ReportScreen"),
});

const evaluationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evaluations/$evaluationId",
  validateSearch: evaluationSearch,
  component: lazyRouteComponent(() => import("./detail/EvaluationScreen"), "EvaluationScreen"),
});

const evaluationItemRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/evaluations/$evaluationId/items/$itemId",
  validateSearch: itemSearch,
  component: lazyRouteComponent(() => import("./item/EvaluationItemScreen"), "EvaluationItemScreen"),
});

export const evaluationsRoutes = [
  evaluationsRoute,
  comparisonRoute,
  reportsRoute,
  reportRoute,
  evaluationRoute,
  evaluationItemRoute,
] as const;
