import type { QueryClient } from "@tanstack/react-query";
import { createRouter, type RouterHistory } from "@tanstack/react-router";
import { datasetsRoutes } from "../features/datasets/routes";
import { gatesRoutes } from "../features/evaluation/gates/routes";
import { leaderboardRoutes } from "../features/evaluation/leaderboard/routes";
import { evaluationsRoutes } from "../features/evaluation/routes";
import { evidenceRoutes } from "../features/evidence/routes";
import { modelsRoutes } from "../features/models/routes";
import { compareRoutes } from "../features/runs/compare/routes";
import { launchRoutes } from "../features/runs/launch/routes";
import { runsRoutes } from "../features/runs/routes";
import { chatRoutes } from "../features/serving/routes";
import { sweepsRoutes } from "../features/sweeps/routes";
import { homeRoutes } from "../features/system/routes";
import { tracesRoutes } from "../features/traces/routes";
import { Loading } from "../ui/feedback/Loading";
import { rootRoute } from "../ui/navigation/root";
import { ScreenError } from "../ui/layout/ScreenError";
import { NotFound } from "./NotFound";
import { Shell } from "./shell/Shell";

/** Every route of the app, listed by feature. */
const SCREEN_ROUTES = [
  ...homeRoutes,
  ...tracesRoutes,
  ...datasetsRoutes,
  ...launchRoutes,
  ...runsRoutes,
  ...compareRoutes,
  ...evaluationsRoutes,
  ...leaderboardRoutes,
  ...gatesRoutes,
  ...sweepsRoutes,
  ...modelsRoutes,
  ...chatRoutes,
  ...evidenceRoutes,
] as const;

const routeTree = rootRoute.update({ component: Shell }).addChildren(SCREEN_ROUTES);

/** The app's router. A screen's code is loaded on navigation, or when a link to it is hovered. */
// The router's type is inferred from all routes; an explicit annotation would lose it.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types
export function createAppRouter(queryClient: QueryClient, history?: RouterHistory) {
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultPreload: "intent",
    // Queries have their own cache.
    defaultPreloadStaleTime: 0,
    defaultErrorComponent: ScreenError,
    defaultNotFoundComponent: NotFound,
    defaultPendingComponent: () => <Loading what="Opening screen…" />,
    scrollRestoration: true,
    ...(history && { history }),
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
