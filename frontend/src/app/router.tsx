import type { QueryClient } from "@tanstack/react-query";
import { createRouter, type RouterHistory } from "@tanstack/react-router";
import { Loading } from "../ui/feedback/Loading";
import { rootRoute } from "../ui/navigation/root";
import { ScreenError } from "../ui/ScreenError";
import { NotFound } from "./NotFound";
import { SCREEN_ROUTES } from "./screens";
import { Shell } from "./shell/Shell";

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
