import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import type { GateCheck, StoredBaseline } from "../../../api/schema.gen";
import {
  BASE_ID,
  evaluationList,
  makeBaseline,
  makeCheck,
  makeComparison,
  makeEvaluation,
  makeSummary,
  makeTrainedSummary,
  OTHER_ID,
} from "../../../testing/evaluations";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";

const BASELINES = "/api/regression/baselines";

function gates(baselines: StoredBaseline[], checks: GateCheck[]): void {
  server.use(
    answer(BASELINES, { data: baselines }),
    ...baselines.map((baseline) => answer(`${BASELINES}/${baseline.name}`, baseline)),
    answer("/api/regression/checks", {
      data: checks,
      pagination: { limit: 100, offset: 0, total: checks.length, total_is_exact: true },
    }),
  );
}

beforeEach(() => {
  const elsewhere = makeSummary({ evaluation_id: "elsewhere", evalset: "another" });
  server.use(answer("/api/evaluations", evaluationList([makeTrainedSummary(), makeSummary(), elsewhere])));
});

test("gates are listed with results and reasons", async () => {
  const earlier = makeCheck({ checked_at: "2026-11-14T13:00:00Z", passed: true, reasons: [], overall: null });
  gates([makeBaseline(), makeBaseline({ name: "next" })], [makeCheck(), earlier]);
  renderApp("/gates");
  const row = await screen.findByRole("row", { name: /^main/ });
  within(row).getByText("fail");
  within(row).getByRole("img", { name: "pass: run-b" });
  expect(screen.getByRole("row", { name: /^next/ }).textContent).toContain("not checked yet");
  screen.getByText("1 protected item is no longer right: item-1");
  screen.getByText("no rule violated");
});

test("an empty list explains gates", async () => {
  gates([], []);
  renderApp("/gates");
  await screen.findByRole("heading", { name: "No baselines yet" });
  screen.getByText("tunix-rt baselines set main RUN");
});

test("failed gates show an error", async () => {
  gates([], []);
  server.use(refuse(BASELINES));
  renderApp("/gates");
  expect((await screen.findByRole("alert")).textContent).toContain("Look at the server's log.");
});

test("a baseline is created with its rule", async () => {
  gates([], []);
  let sent: unknown;
  server.use(
    answer(`/api/evaluations/${OTHER_ID}`, makeEvaluation()),
    http.post(BASELINES, async ({ request }) => {
      sent = await request.json();
      gates([makeBaseline()], []);
      return HttpResponse.json(makeBaseline(), { status: 201 });
    }),
  );
  const { user, address } = renderApp("/gates");
  await user.click(await screen.findByRole("button", { name: "New baseline" }));
  await screen.findByRole("option", { name: /^run-b on exam/ });
  await user.selectOptions(await screen.findByRole("combobox", { name: "Evaluation" }), OTHER_ID);
  await user.click(await screen.findByRole("checkbox", { name: "edge" }));
  await user.type(screen.getByLabelText("Max unscored items, in %"), "5");
  await user.type(screen.getByLabelText("Protected items"), "item-1{Enter} item-2 {Enter}item-1");
  await user.click(screen.getByRole("button", { name: "Save baseline" }));
  await waitFor(() => {
    expect(address()).toBe("/gates/main");
  });
  const rule = {
    alpha: 0.05,
    max_unscored: 0.05,
    protected_sections: ["edge"],
    protected_categories: [],
    protected_items: ["item-1", "item-2"],
  };
  expect(sent).toEqual({ name: "main", evaluation_id: OTHER_ID, rule });
});

test("a check shows the result with reasons", async () => {
  gates([makeBaseline()], []);
  const gate = {
    passed: false,
    reasons: ["significant loss"],
    baseline: "main",
    rule: {},
    comparison: makeComparison(),
  };
  const checked = { baseline_name: "main", baseline_evaluation_id: BASE_ID, evaluation_id: OTHER_ID, delta: -0.25 };
  server.use(
    http.post("/api/regression/check", () => {
      gates([makeBaseline()], [makeCheck()]);
      return HttpResponse.json({ ...checked, verdict: "fail", details: "", gate });
    }),
  );
  const { user } = renderApp("/gates/main");
  await screen.findByText("Every item correct in section core must stay correct.");
  await screen.findByRole("option", { name: /^run-b on exam/ });
  expect(screen.queryByRole("option", { name: /another/ })).toBeNull();
  await user.selectOptions(screen.getByLabelText("Evaluation of the new model"), OTHER_ID);
  await user.click(screen.getByRole("button", { name: "Check" }));
  await screen.findByText("It fails the gate.");
  screen.getByText("significant loss");
  screen.getByText("−25.0 points");
  await screen.findByText("1 protected item is no longer right: item-1");
});

test("a check that cannot run shows an error", async () => {
  gates([makeBaseline()], []);
  const body = { detail: "Different protocols.", next_step: "Evaluate in the same way.", code: "conflict" };
  server.use(http.post("/api/regression/check", () => HttpResponse.json(body, { status: 409 })));
  const { user } = renderApp(`/gates/main?evaluation=${OTHER_ID}`);
  await user.click(await screen.findByRole("button", { name: "Check" }));
  expect((await screen.findByRole("alert")).textContent).toContain("Evaluate in the same way.");
});

test("deleting a baseline asks for confirmation", async () => {
  gates([makeBaseline()], [makeCheck()]);
  let isGone = false;
  server.use(
    http.delete(`${BASELINES}/main`, () => {
      isGone = true;
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user, address } = renderApp("/gates/main");
  await user.click(await screen.findByRole("button", { name: "Delete baseline" }));
  expect(isGone).toBe(false);
  const dialog = screen.getByRole("dialog");
  await user.click(within(dialog).getByRole("button", { name: "Delete baseline" }));
  await waitFor(() => {
    expect(address()).toBe("/gates");
  });
  expect(isGone).toBe(true);
});

test("an unknown gate shows an error and its history", async () => {
  gates([], [makeCheck()]);
  server.use(refuse(`${BASELINES}/main`, 404, "There is no baseline 'main'."));
  renderApp("/gates/main");
  await screen.findByText("There is no baseline 'main'.");
  await screen.findByRole("row", { name: /run-b/ });
});
