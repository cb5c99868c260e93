import { useEffect, useRef, useState } from "react";
import { followStream, type StreamState } from "./followStream";
import type { StreamMessage } from "./messages";

interface EventStream {
  state: StreamState;
  error: Error | null;
}

/**
 * Follows a stream while the component is mounted. A null path disables it.
 *
 * Messages arrive in batches, each message once even across reconnects. The stream closes after `status`.
 *
 * @example
 * const { state } = useEventStream(`/api/tunix/runs/${runId}/stream`, (messages) => dispatch(messages));
 */
export function useEventStream(path: string | null, onMessages: (messages: StreamMessage[]) => void): EventStream {
  const [stream, setStream] = useState<EventStream>({ state: "connecting", error: null });
  const latest = useRef(onMessages);
  useEffect(() => {
    latest.current = onMessages;
  });
  useEffect(() => {
    if (path === null) return;
    const controller = new AbortController();
    const { signal } = controller;
    followStream(path, {
      signal,
      onState: (state) => {
        if (!signal.aborted) setStream({ state, error: null });
      },
      onMessages: (messages) => {
        if (!signal.aborted) latest.current(messages);
      },
    }).catch((error: unknown) => {
      if (!signal.aborted)
        setStream({ state: "ended", error: error instanceof Error ? error : new Error(String(error)) });
    });
    return () => {
      controller.abort();
    };
  }, [path]);
  return stream;
}
