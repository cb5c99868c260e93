import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";
import { jobSearch, newSweepSearch } from "./search";

const tuningRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tuning",
  component: lazyRouteComponent(() => import("./SweepsScreen"), "SweepsScreen"),
});

const tuningNewRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tuning/new",
  validateSearch: newSweepSearch,
  component: lazyRouteComponent(() => import("./create/NewSweepScreen"), "NewSweepScreen"),
});

const tuningJobRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tuning/$jobId",
  validateSearch: jobSearch,
  component: lazyRouteComponent(() => import("./job/SweepScreen"), "SweepScreen"),
});

export const sweepsRoutes = [tuningRoute, tuningNewRoute, tuningJobRoute] as const;
