import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext } from "@tanstack/react-router";

/** What the loader of every route may use. */
export interface RouterContext {
  queryClient: QueryClient;
}

/** The parent of every screen's route; the app gives it its shell. */
export const rootRoute = createRootRouteWithContext<RouterContext>()();
