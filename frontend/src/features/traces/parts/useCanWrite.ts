import { useQuery } from "@tanstack/react-query";
import { sessionQuery } from "../../../api/session";

/** Whether this session may write. Assumed true until the server has answered. */
export function useCanWrite(): boolean {
  return useQuery(sessionQuery).data?.scope !== "read";
}
