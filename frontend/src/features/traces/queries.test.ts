import { expect, test } from "vitest";
import { sumTrace } from "../../testing/traces";
import {
  compareTraces,
  createTrace,
  createTraces,
  deleteTrace,
  getTrace,
  lintTrace,
  listTraces,
  scoreTrace,
} from "./queries";

test("a created trace is returned unchanged", async () => {
  const trace = sumTrace(3, 4, "created");
  const { id } = await createTrace(trace);

  const stored = await getTrace(id);

  expect(stored.payload).toEqual({ trace_version: "1.0", ...trace });
});

test("an identical trace is stored once", async () => {
  const first = await createTrace(sumTrace(5, 6, "stored once"));
  const second = await createTrace(sumTrace(5, 6, "stored once"));

  expect([first.created, second.created]).toEqual([true, false]);
  expect(second.id).toBe(first.id);
});

test("a list is filtered, counted and paged", async () => {
  await createTraces([10, 20, 30].map((left) => sumTrace(left, 1, "paged")));

  const page = await listTraces({ source: "paged", limit: 2 });
  const rest = await listTraces({ source: "paged", limit: 2, offset: 2 });

  expect(page.pagination).toMatchObject({ total: 3, next_offset: 2 });
  expect([page.data.length, rest.data.length]).toEqual([2, 1]);
});

test("repeated filters are combined with AND", async () => {
  const tagged = (tags: string[], left: number) => ({
    ...sumTrace(left, 2, "tagged"),
    meta: { source: "tagged", tags },
  });
  await createTraces([tagged(["easy"], 7), tagged(["easy", "money & more"], 8)]);

  const both = await listTraces({ source: "tagged", tag: ["easy", "money & more"] });

  expect(both.data.map((trace) => trace.prompt_start)).toEqual([expect.stringContaining("8 marbles")]);
});

test("a search matches all words", async () => {
  const walrus = { ...sumTrace(1, 1, "search"), prompt: "A walrus eats 1 fish and 1 more. How many fish?" };
  await createTraces([walrus, sumTrace(1, 1, "search")]);

  const found = await listTraces({ query: "walrus fish" });

  expect(found.data.map((trace) => trace.prompt_start)).toEqual([walrus.prompt]);
});

test("a comparison finds the first difference", async () => {
  const base = sumTrace(2, 2, "compared");
  const last = { i: 1, type: "verify", content: "4 - 2 = 2, as it should be." };
  const [baseReceipt, otherReceipt] = await Promise.all([
    createTrace(base),
    createTrace({ ...base, steps: [...base.steps, last] }),
  ]);

  const { comparison } = await compareTraces(baseReceipt.id, otherReceipt.id);

  expect(comparison.first_difference).toBe(1);
  expect(comparison.steps.map((step) => step.kind)).toEqual(["same", "added"]);
});

test("a score names the wrong step and is stored", async () => {
  const wrong = { ...sumTrace(40, 2, "scored"), final_answer: "43" };
  wrong.steps = [{ i: 0, type: "reasoning", content: "She has 40 + 2 = 43 marbles." }];
  const { id } = await createTrace(wrong);

  const { score, details } = await scoreTrace(id);

  expect(details.findings).toContainEqual(expect.objectContaining({ code: "arithmetic-wrong", step: 0 }));
  expect((await getTrace(id)).score).toBe(score);
});

test("linting a trace does not store it", async () => {
  const report = await lintTrace(sumTrace(50, 5, "only linted"));

  expect(report).toMatchObject({ score: 100, findings: [] });
  expect((await listTraces({ source: "only linted" })).data).toEqual([]);
});

test("a deleted trace is gone", async () => {
  const { id } = await createTrace(sumTrace(9, 9, "deleted"));

  await deleteTrace(id);

  await expect(getTrace(id)).rejects.toMatchObject({ status: 404, code: "not-found" });
});
