import { useQuery } from "@tanstack/react-query";
import { sessionQuery } from "../../../api/session";

/** Whether this browser may change anything; true until the server has said otherwise. */
export function useMayWrite(): boolean {
  return useQuery(sessionQuery).data?.scope !== "read";
}
