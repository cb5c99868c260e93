import { ApiError, toApiError } from "../../api/errors";
import { readMessages, type StreamMessage } from "./messages";

export type StreamState = "connecting" | "open" | "waiting" | "ended";

interface FollowOptions {
  signal: AbortSignal;
  onMessages: (messages: StreamMessage[]) => void;
  onState: (state: StreamState) => void;
  /** The id of the last message received, to resume from. */
  lastEventId?: string;
}

const FINAL_EVENT = "status";
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 15_000;
/** The server sends data every five seconds, so a connection without data for longer is lost. */
const IDLE_TIMEOUT_MS = 20_000;

/**
 * Follow an API stream to its end and reconnect when needed. Each message arrives once.
 *
 * Ends after the message `status`. Throws an `ApiError` if the server refuses the request.
 */
export async function followStream(path: string, options: FollowOptions): Promise<void> {
  let [lastEventId, backoffMs] = [options.lastEventId ?? "", MIN_BACKOFF_MS];
  const onBatch = (messages: StreamMessage[]): boolean => {
    backoffMs = MIN_BACKOFF_MS;
    lastEventId = messages.findLast(({ id }) => id !== "")?.id ?? lastEventId;
    options.onState("open");
    options.onMessages(messages);
    return messages.some(({ event }) => event === FINAL_EVENT);
  };
  options.onState("connecting");
  while (!options.signal.aborted) {
    if (await readOnce(path, lastEventId, options.signal, onBatch)) {
      options.onState("ended");
      return;
    }
    options.onState("waiting");
    await pause(backoffMs, options.signal);
    backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
  }
}

/** Reads one connection. Returns true when the stream has ended. */
async function readOnce(
  path: string,
  lastEventId: string,
  signal: AbortSignal,
  onBatch: (messages: StreamMessage[]) => boolean,
): Promise<boolean> {
  const idle = idleTimeout(signal);
  try {
    const response = await fetch(path, {
      headers: { accept: "text/event-stream", ...(lastEventId && { "last-event-id": lastEventId }) },
      signal: idle.signal,
    });
    if (!response.ok) throw toApiError(response.status, await response.json().catch(() => null));
    for await (const messages of readMessages(response.body ?? new ReadableStream())) {
      idle.reset();
      if (onBatch(messages)) return true;
    }
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) throw error;
  } finally {
    idle.stop();
  }
  return false;
}

function idleTimeout(outer: AbortSignal): { signal: AbortSignal; reset: () => void; stop: () => void } {
  const controller = new AbortController();
  const abort = (): void => {
    controller.abort();
  };
  outer.addEventListener("abort", abort);
  let timer = setTimeout(abort, IDLE_TIMEOUT_MS);
  return {
    signal: controller.signal,
    reset: () => {
      clearTimeout(timer);
      timer = setTimeout(abort, IDLE_TIMEOUT_MS);
    },
    stop: () => {
      clearTimeout(timer);
      outer.removeEventListener("abort", abort);
      // Closes a connection that was abandoned before its end.
      controller.abort();
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
