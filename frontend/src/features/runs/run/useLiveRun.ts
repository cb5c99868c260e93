import { useQueryClient } from "@tanstack/react-query";
import { useReducer, useState } from "react";
import { isActive } from "../queries";
import type { Run } from "../../../api/schema.gen";
import type { StreamState } from "../../../ui/live/followStream";
import { useEventStream } from "../../../ui/live/useEventStream";
import { type LiveRun, NOTHING_YET, withMessages } from "./live";

interface Following {
  live: LiveRun;
  state: StreamState;
  error: Error | null;
}

/**
 * Everything that a run tells, from its beginning and as it happens.
 *
 * The stream ends with the run. When the run is resumed later, it is followed on from where it was.
 *
 * @param readAt when `run` was read
 */
export function useLiveRun(run: Run, readAt: number): Following {
  const queryClient = useQueryClient();
  const [live, take] = useReducer(withMessages, NOTHING_YET);
  const [cursor, setCursor] = useState("");
  const hasEnded = live.endedAt !== null && live.lastId !== cursor;
  if (hasEnded && readAt > (live.endedAt ?? 0) && isActive(run.status)) setCursor(live.lastId);
  const query = cursor === "" ? "" : `?cursor=${encodeURIComponent(cursor)}`;
  const { state, error } = useEventStream(`/api/tunix/runs/${run.run_id}/stream${query}`, (messages) => {
    take(messages);
    const isTold = messages.some(({ event }) => event === "service" || event === "status");
    if (isTold) void queryClient.invalidateQueries({ queryKey: ["runs", run.run_id] });
  });
  return { live, state, error };
}
