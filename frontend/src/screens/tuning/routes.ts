import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";

const tuningRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tuning",
  component: lazyRouteComponent(() => import("./TuningScreen"), "TuningScreen"),
});

const tuningNewRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tuning/new",
  component: lazyRouteComponent(() => import("./TuningNewScreen"), "TuningNewScreen"),
});

const tuningJobRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tuning/$jobId",
  component: lazyRouteComponent(() => import("./TuningJobScreen"), "TuningJobScreen"),
});

export const tuningRoutes = [tuningRoute, tuningNewRoute, tuningJobRoute] as const;
