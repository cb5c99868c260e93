import { render, screen, waitFor } from "@testing-library/react";
import { type ReactElement, useState } from "react";
import { expect, test } from "vitest";
import { http, HttpResponse, refuse, server } from "../../testing/http";
import { parseMessage, readMessages, type StreamMessage } from "./messages";
import { useEventStream } from "./useEventStream";

const STREAM = "/api/tunix/runs/a/stream";

function Viewer({ path }: { path: string | null }): ReactElement {
  const [seen, setSeen] = useState<StreamMessage[]>([]);
  const { state, error } = useEventStream(path, (messages) => {
    setSeen((before) => [...before, ...messages]);
  });
  return (
    <p>
      {state} {error?.message} {seen.map(({ event, data }) => `${event}=${data}`).join(" ")}
    </p>
  );
}

function sent(...messages: string[]): Response {
  return new HttpResponse(messages.join(""), { headers: { "content-type": "text/event-stream" } });
}

test("a broken stream resumes after the last message", async () => {
  const requests: (string | null)[] = [];
  server.use(
    http.get(STREAM, ({ request }) => {
      requests.push(request.headers.get("last-event-id"));
      return requests.length === 1
        ? sent("event: log\nid: 7\ndata: one\n\n")
        : sent("event: log\nid: 9\ndata: two\n\n", "event: status\nid: 9\ndata: done\n\n");
    }),
  );
  render(<Viewer path={STREAM} />);
  await screen.findByText("ended log=one log=two status=done");
  expect(requests).toEqual([null, "7"]);
});

test("a refused stream ends with the error", async () => {
  server.use(refuse(STREAM, 404, "There is no run a."));
  render(<Viewer path={STREAM} />);
  await screen.findByText(/ended There is no run a./);
});

test("no request is made without a path", async () => {
  render(<Viewer path={null} />);
  await waitFor(() => {
    expect(screen.getByText("connecting")).toBeTruthy();
  });
});

test("messages may be split and comments are skipped", async () => {
  const pieces = ["event: lo", "g\nid: 1\nda", "ta: a: b\n", "data: c\n\n: ping\n\ndata: x\n", "\n"];
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      pieces.forEach((piece) => {
        controller.enqueue(new TextEncoder().encode(piece));
      });
      controller.close();
    },
  });
  const read: StreamMessage[] = [];
  for await (const messages of readMessages(body)) read.push(...messages);
  expect(read).toEqual([
    { event: "log", id: "1", data: "a: b\nc" },
    { event: "message", id: "", data: "x" },
  ]);
  expect(parseMessage(": ping")).toBeNull();
});
