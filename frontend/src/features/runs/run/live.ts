import { useQueryClient } from "@tanstack/react-query";
import { useReducer, useState } from "react";
import type { MetricsLine, Run, ServiceEvent, ValidationLine } from "../../../api/schema.gen";
import type { StreamState } from "../../../ui/live/followStream";
import type { StreamMessage } from "../../../ui/live/messages";
import { useEventStream } from "../../../ui/live/useEventStream";
import { isActive } from "../queries";

/** An event of a run, from the queue and its workers or from the engine. */
export interface RunEventLine extends Omit<ServiceEvent, "kind"> {
  kind: string;
  source: "queue" | "engine";
}

/** The state of a run built from its stream. docs/live.md lists the messages. */
export interface LiveRun {
  steps: readonly MetricsLine[];
  validations: readonly ValidationLine[];
  events: readonly RunEventLine[];
  lines: readonly string[];
  /** The last log line, if it is not complete yet. */
  openLine: string;
  lastId: string;
  /** When the stream ended, or null while it is open. */
  endedAt: number | null;
}

export const EMPTY_RUN: LiveRun = {
  steps: [],
  validations: [],
  events: [],
  lines: [],
  openLine: "",
  lastId: "",
  endedAt: null,
};

interface LogChunk {
  chunk: string;
  is_partial: boolean;
}

interface Rewind {
  source: "events" | "metrics";
  step: number;
}

/** Applies a batch of messages. Lists are copied once per batch. */
export function withMessages(live: LiveRun, messages: readonly StreamMessage[]): LiveRun {
  const next = { ...live, steps: [...live.steps], validations: [...live.validations], events: [...live.events] };
  const draft: Draft = { ...next, lines: [...live.lines] };
  for (const message of messages) {
    HANDLERS[message.event]?.(draft, JSON.parse(message.data) as never);
    if (message.id !== "") draft.lastId = message.id;
  }
  return draft;
}

interface Draft extends LiveRun {
  steps: MetricsLine[];
  validations: ValidationLine[];
  events: RunEventLine[];
  lines: string[];
}

// The payloads are described in docs/live.md.
const HANDLERS: Record<string, ((draft: Draft, data: never) => void) | undefined> = {
  service: (draft, data: ServiceEvent) => {
    draft.events.push({ ...data, source: "queue" });
  },
  event: (draft, data: Omit<RunEventLine, "source">) => {
    draft.events.push({ ...data, source: "engine" });
  },
  metrics: (draft, data: MetricsLine | ValidationLine) => {
    if ("validation_loss" in data) draft.validations.push(data);
    else draft.steps.push(data);
  },
  rewind: (draft, { source, step }: Rewind) => {
    if (source === "events") {
      draft.events = draft.events.filter((event) => event.source === "queue");
      return;
    }
    draft.steps = draft.steps.filter((line) => line.step <= step);
    draft.validations = draft.validations.filter((line) => line.step <= step);
  },
  log: (draft, { chunk, is_partial }: LogChunk) => {
    const parts = (draft.openLine + chunk).split("\n");
    const rest = parts.pop() ?? "";
    for (const part of parts) draft.lines.push(part);
    draft.openLine = is_partial ? rest : "";
    if (!is_partial && rest !== "") draft.lines.push(rest);
  },
  status: (draft) => {
    draft.endedAt = Date.now();
  },
};

/** The log lines, including the incomplete last one. */
export function logLines({ lines, openLine }: LiveRun): readonly string[] {
  return openLine === "" ? lines : [...lines, openLine];
}

/** The events of both sources sorted by time. */
export function eventsInOrder(events: readonly RunEventLine[]): RunEventLine[] {
  return [...events].sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

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
