import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Session } from "./schema.gen";

/** The session of this browser. 401 if the server requires an access token. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: () => unwrap(api.GET("/api/session")),
  staleTime: Infinity,
});

/** Store an access token in an HTTP-only cookie, which links and streams send too. */
export function signIn(token: string): Promise<Session> {
  return unwrap(api.POST("/api/session", { headers: { authorization: `Bearer ${token}` } }));
}

export async function signOut(): Promise<void> {
  await unwrap(api.DELETE("/api/session"));
}
