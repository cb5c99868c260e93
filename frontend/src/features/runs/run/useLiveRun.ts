import { useQueryClient } from "@tanstack/react-query";
import { useReducer, useState } from "react";
import { isActive } from "../queries";
import type { Run } from "../../../api/schema.gen";
import type { StreamState } from "../../../ui/live/followStream";
import { useEventStream } from "../../../ui/live/useEventStream";
import { type LiveRun, EMPTY_RUN, withMessages } from "./live";

interface LiveRunState {
  live: LiveRun;
  state: StreamState;
  error: Error | null;
}

/**
 * Follows the stream of a run from its beginning.
 *
 * The stream ends with the run. When the run is resumed, it continues from the last message.
 *
 * @param readAt when `run` was fetched
 */
export function useLiveRun(run: Run, readAt: number): LiveRunState {
  const queryClient = useQueryClient();
  const [live, apply] = useReducer(withMessages, EMPTY_RUN);
  const [cursor, setCursor] = useState("");
  const hasEnded = live.endedAt !== null && live.lastId !== cursor;
  if (hasEnded && readAt > (live.endedAt ?? 0) && isActive(run.status)) setCursor(live.lastId);
  const query = cursor === "" ? "" : `?cursor=${encodeURIComponent(cursor)}`;
  const { state, error } = useEventStream(`/api/tunix/runs/${run.run_id}/stream${query}`, (messages) => {
    apply(messages);
    const hasStatusChange = messages.some(({ event }) => event === "service" || event === "status");
    if (hasStatusChange) void queryClient.invalidateQueries({ queryKey: ["runs", run.run_id] });
  });
  return { live, state, error };
}
