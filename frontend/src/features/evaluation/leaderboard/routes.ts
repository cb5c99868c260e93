import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../../ui/navigation/root";
import { boardFilters } from "./filters";

const leaderboardRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/leaderboard",
  validateSearch: boardFilters,
  component: lazyRouteComponent(() => import("./LeaderboardScreen"), "LeaderboardScreen"),
});

export const leaderboardRoutes = [leaderboardRoute] as const;
