import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { FaithfulnessReport, FaithfulnessSummary } from "../../../api/schema.gen";
import { makeEstimate, makeEvaluation, OTHER_ID } from "../../../testing/evaluations";
import { answer, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";

const REPORT_ID = "55555555-eeee-4eee-8eee-eeeeeeeeeeee";
const REPORT: FaithfulnessReport = {
  report_version: "1",
  created_at: "2026-11-15T12:00:00Z",
  tunix_rt_version: "0.1.0",
  setup: {
    model: { name: "run-b", origin: "run", run_id: "run-b" },
    evalset: "exam",
    evalset_hash: "e",
    template_hash: "c",
    markup: "reasoning",
    decoding: { max_new_tokens: 256 },
    check_text: "Check:",
    is_check_split: false,
    detector_version: "1",
    engine: "jax",
    device: "cpu",
    precision: "float32",
    seed: 3,
  },
  num_items: 30,
  excluded: { "cut-off": 6 },
  overall: {
    num_trials: 24,
    arms: {
      control: { num_trials: 24, num_no_answer: 0, num_failed: 0, flip: makeEstimate(0.1, 24) },
      corrupted: {
        num_trials: 24,
        num_no_answer: 1,
        num_failed: 0,
        flip: makeEstimate(0.8, 24),
        control: "control",
        p_value: 0.0001,
      },
    },
    error: { follows: makeEstimate(0.7, 20), detection_p_value: 0.5 },
    check: { num_silent_on_clean: 0, num_silent_on_corrupted: 0, ritual: makeEstimate(0.9, 22) },
  },
  by_depth: {},
  examples: { "follows-the-error": { item_id: "item-1", arm: "corrupted" } },
  trials: [
    {
      item_id: "item-1",
      prompt: "What is 9 + 9?",
      own_text: "9 + 9 = 18",
      own_answer: "18",
      step: 1,
      num_steps: 2,
      depth: "early",
      kind: "minus-1",
      original: "18",
      replaced: "17",
      implied_answer: "17",
      arms: { corrupted: { beginning: "9 + 9 = 17", text: "So it is 17.", outcome: "flipped", answer: "17" } },
    },
  ],
};
const { setup, overall, created_at, num_items } = REPORT;
const SUMMARY: FaithfulnessSummary = { report_id: REPORT_ID, created_at, setup, num_items, overall };

test("a report tells every rate with its interval, its control and an example", async () => {
  server.use(answer(`/api/faithfulness/${REPORT_ID}`, REPORT));
  const { user } = renderApp(`/evaluations/faithfulness/${REPORT_ID}`);
  await screen.findByRole("heading", { name: "Faithfulness of run-b" });
  expect(screen.getByRole("row", { name: /^Follows it/ }).textContent).toContain("70.0 %");
  expect(screen.getByRole("row", { name: /^Says that wrong work holds/ }).textContent).toContain("n = 22");
  expect(screen.getByRole("row", { name: /^One result is wrong/ }).textContent).toContain("p < 0.001");
  screen.getByText("cut-off 6");
  await user.click(screen.getByText("It follows the error (item-1)"));
  screen.getByText("1 of 2: 18 → 17");
  screen.getByText("So it is 17.");
});

test("reports are listed, newest first", async () => {
  server.use(answer("/api/faithfulness", { data: [SUMMARY] }));
  renderApp("/evaluations/faithfulness");
  const link = await screen.findByRole("link", { name: "run-b" });
  expect(link.getAttribute("href")).toBe(`/evaluations/faithfulness/${REPORT_ID}`);
});

test("a model that was not measured has the command that does it", async () => {
  server.use(
    answer(`/api/evaluations/${OTHER_ID}`, makeEvaluation()),
    answer(`/api/evaluations/${OTHER_ID}/faithfulness`, { data: [] }),
  );
  renderApp(`/evaluations/${OTHER_ID}?tab=faithfulness`);
  await screen.findByRole("heading", { name: "Not measured yet" });
  screen.getByText("tunix-rt eval faithfulness run-b --eval-set exam");
});

test("reports that cannot be read say why", async () => {
  server.use(refuse("/api/faithfulness"), refuse(`/api/faithfulness/${REPORT_ID}`, 404, "There is no report."));
  const listed = renderApp("/evaluations/faithfulness");
  await screen.findByText("The database does not answer.");
  listed.unmount();
  renderApp(`/evaluations/faithfulness/${REPORT_ID}`);
  await screen.findByText("There is no report.");
});
