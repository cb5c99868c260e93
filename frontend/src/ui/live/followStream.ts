import { ApiError, toApiError } from "../../api/errors";
import { readMessages, type StreamMessage } from "./messages";

export type StreamState = "connecting" | "open" | "waiting" | "ended";

interface FollowOptions {
  signal: AbortSignal;
  onMessages: (messages: StreamMessage[]) => void;
  onState: (state: StreamState) => void;
  /** Where to go on: the id of the last message that was seen. */
  lastEventId?: string;
}

const LAST_EVENT = "status";
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;
/** The server sends something every five seconds: a connection that is silent for longer is gone. */
const SILENCE_LIMIT_MS = 20_000;

/**
 * Follow a stream of the API to its end, over every break: each message arrives once.
 *
 * Ends after the message `status`; throws an `ApiError` when the server refuses.
 */
export async function followStream(path: string, options: FollowOptions): Promise<void> {
  let [lastEventId, waitMs] = [options.lastEventId ?? "", FIRST_WAIT_MS];
  const take = (messages: StreamMessage[]): boolean => {
    waitMs = FIRST_WAIT_MS;
    lastEventId = messages.findLast(({ id }) => id !== "")?.id ?? lastEventId;
    options.onState("open");
    options.onMessages(messages);
    return messages.some(({ event }) => event === LAST_EVENT);
  };
  options.onState("connecting");
  while (!options.signal.aborted) {
    if (await readOnce(path, lastEventId, options.signal, take)) {
      options.onState("ended");
      return;
    }
    options.onState("waiting");
    await pause(waitMs, options.signal);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
}

/** One connection; true when the stream has come to its end. */
async function readOnce(
  path: string,
  lastEventId: string,
  signal: AbortSignal,
  take: (messages: StreamMessage[]) => boolean,
): Promise<boolean> {
  const silence = silenceGuard(signal);
  try {
    const response = await fetch(path, {
      headers: { accept: "text/event-stream", ...(lastEventId && { "last-event-id": lastEventId }) },
      signal: silence.signal,
    });
    if (!response.ok) throw toApiError(response.status, await response.json().catch(() => null));
    for await (const messages of readMessages(response.body ?? new ReadableStream())) {
      silence.hear();
      if (take(messages)) return true;
    }
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) throw error;
  } finally {
    silence.stop();
  }
  return false;
}

function silenceGuard(outer: AbortSignal): { signal: AbortSignal; hear: () => void; stop: () => void } {
  const controller = new AbortController();
  const abort = (): void => {
    controller.abort();
  };
  outer.addEventListener("abort", abort);
  let timer = setTimeout(abort, SILENCE_LIMIT_MS);
  return {
    signal: controller.signal,
    hear: () => {
      clearTimeout(timer);
      timer = setTimeout(abort, SILENCE_LIMIT_MS);
    },
    stop: () => {
      clearTimeout(timer);
      outer.removeEventListener("abort", abort);
      // Lets go of a connection that was left before its end.
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
