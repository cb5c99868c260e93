import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext } from "@tanstack/react-router";

/** The context available to every route loader. */
export interface RouterContext {
  queryClient: QueryClient;
}

/** The parent of all screen routes. The app adds the shell. */
export const rootRoute = createRootRouteWithContext<RouterContext>()();
