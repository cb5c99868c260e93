import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Session } from "./schema.gen";

/** As whom the server sees this browser; 401 when it wants an access token. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: () => unwrap(api.GET("/api/session")),
  staleTime: Infinity,
});

/** Keep an access token in a cookie that scripts cannot read; links and streams then carry it too. */
export function signIn(token: string): Promise<Session> {
  return unwrap(api.POST("/api/session", { headers: { authorization: `Bearer ${token}` } }));
}

export async function signOut(): Promise<void> {
  await unwrap(api.DELETE("/api/session"));
}
