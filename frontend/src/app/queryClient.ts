import { QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "../api/errors";
import { sessionQuery } from "../api/session";

const MAX_RETRIES = 2;

/** What was read stays for a moment; only what may pass by itself is tried again. */
export function createQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        // The token has ended: the sign-in screen takes over as soon as the session knows.
        const isSession = query.queryKey[0] === sessionQuery.queryKey[0];
        if (isStatus(error, 401) && !isSession) void client.resetQueries({ queryKey: sessionQuery.queryKey });
      },
    }),
    defaultOptions: {
      // The server may be on this very machine: a browser that thinks it is offline asks it all the same.
      mutations: { networkMode: "always" },
      queries: {
        networkMode: "always",
        staleTime: 2_000,
        retry: (numFailures, error) => isPassing(error) && numFailures < MAX_RETRIES,
      },
    },
  });
  return client;
}

function isPassing(error: Error): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 502);
}

function isStatus(error: Error, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}
