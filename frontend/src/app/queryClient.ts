import { QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "../api/errors";
import { sessionQuery } from "../api/session";

const MAX_RETRIES = 2;

/** The query client: short cache, and retries only for transient errors. */
export function createQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        // The token is no longer valid: resetting the session shows the sign-in screen.
        const isSession = query.queryKey[0] === sessionQuery.queryKey[0];
        if (isStatus(error, 401) && !isSession) void client.resetQueries({ queryKey: sessionQuery.queryKey });
      },
    }),
    defaultOptions: {
      // The server may run on this machine, so requests are sent even when the browser reports offline.
      mutations: { networkMode: "always" },
      queries: {
        networkMode: "always",
        staleTime: 2_000,
        retry: (numFailures, error) => isTransient(error) && numFailures < MAX_RETRIES,
      },
    },
  });
  return client;
}

function isTransient(error: Error): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 502);
}

function isStatus(error: Error, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}
