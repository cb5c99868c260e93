import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../../ui/navigation/root";
import { compareSearch } from "./search";

const compareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/compare",
  validateSearch: compareSearch,
  component: lazyRouteComponent(() => import("./CompareScreen"), "CompareScreen"),
});

export const compareRoutes = [compareRoute] as const;
