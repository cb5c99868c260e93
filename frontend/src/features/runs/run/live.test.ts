import { expect, test } from "vitest";
import { makeRunDetail, stepLine } from "../../../testing/plans";
import { lastOf, numStepsOf, phaseOf, secondsLeft, secondsTaken, stepOf, stepSeconds } from "./figures";
import { EMPTY_RUN, eventsInOrder, type LiveRun, logLines, withMessages } from "./live";
import { toYaml } from "./RunRecipe";

function receive(...messages: [event: string, data: unknown][]): LiveRun {
  return withMessages(
    EMPTY_RUN,
    messages.map(([event, data], id) => ({ event, id: String(id + 1), data: JSON.stringify(data) })),
  );
}

test("messages are collected in order", () => {
  const live = receive(
    ["metrics", stepLine(1, 3)],
    ["metrics", { step: 1, epoch: 0.1, validation_loss: 2.5, validation_tokens: 9, time: "2026-11-15T12:00:01Z" }],
    ["event", { sequence: 0, time: "2026-11-15T12:00:01Z", kind: "checkpoint", message: "saved", details: {} }],
    ["service", { sequence: 0, time: "2026-11-15T11:59:00Z", kind: "submitted", message: "", details: {} }],
    ["heartbeat", { seq: 0 }],
  );
  expect(live.steps.map(({ loss }) => loss)).toEqual([3]);
  expect(live.validations.map(({ step }) => step)).toEqual([1]);
  expect(eventsInOrder(live.events).map(({ source, kind }) => [source, kind])).toEqual([
    ["queue", "submitted"],
    ["engine", "checkpoint"],
  ]);
  expect(live.lastId).toBe("5");
  expect(live.endedAt).toBeNull();
  expect(receive(["status", { status: "succeeded" }]).endedAt).not.toBeNull();
});

test("a rewind removes repeated metrics and events", () => {
  const live = receive(
    ["metrics", stepLine(1, 3)],
    ["metrics", stepLine(2, 2)],
    ["rewind", { source: "metrics", step: 1 }],
    ["metrics", stepLine(2, 1.5)],
    ["event", { sequence: 0, time: "2026-11-15T12:00:01Z", kind: "started", message: "", details: {} }],
    ["rewind", { source: "events", step: 0 }],
  );
  expect(live.steps.map(({ loss }) => loss)).toEqual([3, 1.5]);
  expect(live.events).toEqual([]);
});

test("partial log chunks are joined into lines", () => {
  const live = receive(
    ["log", { chunk: "one\ntwo\n", is_partial: false }],
    ["log", { chunk: "thr", is_partial: true }],
    ["log", { chunk: "ee\nfo", is_partial: true }],
  );
  expect(logLines(live)).toEqual(["one", "two", "three", "fo"]);
  const next = withMessages(live, [
    { event: "log", id: "9", data: '{"chunk": "ur\\n\\nsix\\n", "is_partial": false}' },
  ]);
  expect(logLines(next)).toEqual(["one", "two", "three", "four", "", "six"]);
});

test("the phase follows from status and events", () => {
  const running = makeRunDetail({ status: "running", figures: null });
  const event = (kind: string): [string, object] => [
    "event",
    { sequence: 0, time: "2026-11-15T12:00:00Z", kind, message: "", details: {} },
  ];
  expect(phaseOf(makeRunDetail({ status: "queued" }), EMPTY_RUN)).toBe("waiting for a worker");
  expect(phaseOf(makeRunDetail({ status: "queued", is_held: true }), EMPTY_RUN)).toBe("paused");
  expect(phaseOf(makeRunDetail({ status: "cancelling" }), EMPTY_RUN)).toContain("stopping");
  expect(phaseOf(running, EMPTY_RUN)).toBe("starting");
  expect(phaseOf(running, receive(event("plan")))).toBe("preparing");
  expect(phaseOf(running, receive(event("plan"), ["metrics", stepLine(1, 3)], event("checkpoint")))).toBe("training");
  expect(phaseOf(running, receive(event("exported")))).toBe("saving the model");
  expect(phaseOf(running, receive(event("evaluating")))).toBe("evaluating");
  expect(phaseOf(makeRunDetail(), EMPTY_RUN)).toBe("succeeded");
});

test("the time left follows from the last steps", () => {
  const running = makeRunDetail({ status: "running", figures: null });
  const live = receive(["metrics", stepLine(4, 3)], ["metrics", stepLine(5, 2)]);
  expect(stepSeconds(live.steps)).toBe(1);
  expect([stepOf(running, live), numStepsOf(running)]).toEqual([5, 20]);
  expect(secondsLeft(running, live)).toBe(15);
  expect(secondsLeft(running, EMPTY_RUN)).toBeNull();
  expect(secondsLeft(makeRunDetail(), live)).toBeNull();
  expect(lastOf(live.steps, "tokens_per_s")).toBe(500);
  expect(secondsTaken(makeRunDetail())).toBe(120);
  expect(secondsTaken(makeRunDetail({ started_at: null }))).toBeNull();
});

test("a recipe is rendered as YAML", () => {
  const recipe = {
    model: { name: "google/gemma-2b", revision: null },
    training: { learning_rate: 1e-5, optimizer: { name: "adamw" } },
    lora: { targets: ["q", "v"], note: "yes", other: "a: b" },
  };
  expect(toYaml(recipe)).toBe(`model:
  name: google/gemma-2b
  revision: null
training:
  learning_rate: 0.00001
  optimizer:
    name: adamw
lora:
  targets: [q, v]
  note: "yes"
  other: "a: b"
`);
});
