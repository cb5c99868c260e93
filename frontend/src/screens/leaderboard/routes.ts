import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../ui/navigation/root";

const leaderboardRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/leaderboard",
  component: lazyRouteComponent(() => import("./LeaderboardScreen"), "LeaderboardScreen"),
});

export const leaderboardRoutes = [leaderboardRoute] as const;
