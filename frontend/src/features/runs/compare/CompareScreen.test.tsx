import { screen, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { BASE_ID, evaluationList, makeComparison, makeTrainedSummary, OTHER_ID } from "../../../testing/evaluations";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { makeRunDetail, stepLine } from "../../../testing/plans";
import { renderApp } from "../../../testing/render";
import { makeRun, runList } from "../../../testing/runs";
import { compareSnippets } from "./CompareScreen";

const BOTH = "/compare?run=[%22run-a%22,%22run-b%22]";

beforeEach(() => {
  const recipe = (learning_rate: number) => ({
    model: { name: "tiny" },
    training: { learning_rate, optimizer: { name: "adamw" } },
    overrides: [{ key: "training.learning_rate" }],
  });
  server.use(
    answer("/api/tunix/runs", runList([makeRun({ run_id: "run-a" }), makeRun({ run_id: "run-b" })])),
    answer("/api/tunix/runs/run-a", makeRunDetail({ run_id: "run-a", recipe: recipe(0.001) })),
    answer("/api/tunix/runs/run-b", makeRunDetail({ run_id: "run-b", recipe: recipe(0.01) })),
    answer("/api/tunix/runs/run-a/metrics", [stepLine(1, 3), stepLine(2, 2), validation(2, 2.5)]),
    answer("/api/tunix/runs/run-b/metrics", [stepLine(1, 3), stepLine(2, 1.25)]),
  );
});

test("runs are selected by checkbox and by key", async () => {
  const { user, address } = renderApp("/compare");
  await user.click(await screen.findByRole("checkbox", { name: "Select run-b" }));
  const row = await screen.findByRole("row", { name: /run-a/ });
  row.focus();
  await user.keyboard(" ");
  const chosen = await screen.findByRole("list", { name: "Selected runs" });
  await within(chosen).findByRole("link", { name: "run-a" });
  expect(decodeURIComponent(address())).toContain('run=["run-b","run-a"]');
  await user.click(within(chosen).getByRole("button", { name: "Use run-a as base" }));
  expect(decodeURIComponent(address())).toContain('run=["run-a","run-b"]');
  await user.click(screen.getByRole("button", { name: "Remove run-b" }));
  expect(within(chosen).queryByRole("link", { name: "run-b" })).toBeNull();
});

test("Shift selects a range", async () => {
  const runs = ["one", "two", "three"].map((run_id) => makeRun({ run_id }));
  server.use(
    answer("/api/tunix/runs", runList(runs)),
    ...runs.flatMap(({ run_id }) => [
      answer(`/api/tunix/runs/${run_id}`, makeRunDetail({ run_id })),
      answer(`/api/tunix/runs/${run_id}/metrics`, []),
    ]),
  );
  const { user, address } = renderApp("/compare?choose=true");
  const row = await screen.findByRole("row", { name: /one/ });
  row.focus();
  await user.keyboard(" ");
  const last = await screen.findByRole("checkbox", { name: "Select three" });
  last.closest<HTMLElement>('[role="row"]')?.focus();
  await user.keyboard("{Shift>} {/Shift}");
  await screen.findByRole("button", { name: "Remove two" });
  expect(decodeURIComponent(address())).toContain('["one","two","three"]');
});

test("curves share a chart with a table view", async () => {
  const { user, address } = renderApp(BOTH);
  const chart = await screen.findByRole("figure", { name: "Loss" });
  await user.click(await within(chart).findByRole("checkbox", { name: "Show as table" }));
  const second = await within(chart).findByRole("row", { name: "2 2 1.25" });
  expect(second).toBeTruthy();
  await user.selectOptions(screen.getByRole("combobox", { name: "Metric" }), "Validation loss");
  await user.selectOptions(screen.getByRole("combobox", { name: "X axis" }), "minutes since the first step");
  expect(address()).toContain("metric=validation_loss&axis=minutes");
  const validations = screen.getByRole("figure", { name: "Validation loss" });
  expect(within(validations).getByRole("row", { name: /2\.5 –/ })).toBeTruthy();
});

test("only differing settings are shown by default", async () => {
  const { user } = renderApp(`${BOTH}&tab=settings`);
  const differs = await screen.findByRole("row", { name: "training.learning_rate 0.001 ≠ 0.01" });
  expect(differs).toBeTruthy();
  expect(screen.queryByRole("row", { name: /optimizer/ })).toBeNull();
  await user.click(screen.getByRole("checkbox", { name: /identical settings/ }));
  await screen.findByRole("row", { name: "training.optimizer.name adamw adamw" });
});

test("scores have intervals, significance and a comparison link", async () => {
  const ofRun = (run_id: string) => ({ name: run_id, origin: "run" as const, run_id });
  const byRun: Record<string, ReturnType<typeof makeTrainedSummary>> = {
    "run-a": makeTrainedSummary({ evaluation_id: BASE_ID, model: ofRun("run-a") }),
    "run-b": makeTrainedSummary({ evaluation_id: OTHER_ID, model: ofRun("run-b") }),
  };
  server.use(
    http.get("/api/evaluations", ({ request }) => {
      const found = byRun[new URL(request.url).searchParams.get("run_id") ?? ""];
      return HttpResponse.json(evaluationList(found ? [found] : []));
    }),
    answer("/api/evaluations/compare", makeComparison()),
  );
  renderApp(`${BOTH}&tab=scores`);
  const row = await screen.findByRole("row", { name: /run-b.*The other is significantly better/ });
  expect(within(row).getByText(/95 % CI 60\.0 % to 86\.0 %, n = 40/)).toBeTruthy();
  const flips = within(row).getByRole("link", { name: "Compare items" });
  expect(flips.getAttribute("href")).toBe(`/evaluations/compare?base=${BASE_ID}&other=${OTHER_ID}`);
  expect(screen.getByRole("region", { name: "Training metrics" })).toBeTruthy();
});

test("a run without a score shows the eval command", async () => {
  server.use(answer("/api/evaluations", evaluationList([])));
  renderApp(`${BOTH}&tab=scores`);
  const missing = await screen.findByRole("region", { name: "Not evaluated" });
  expect(within(missing).getByText("tunix-rt eval run-a --eval-set eval_v2")).toBeTruthy();
});

test("a missing run is named and the others are compared", async () => {
  server.use(refuse("/api/tunix/runs/run-b", 404, "There is no run run-b."));
  renderApp(BOTH);
  expect(await screen.findByText("Could not load run-b")).toBeTruthy();
  expect(screen.getByRole("figure", { name: "Loss" })).toBeTruthy();
});

test("the comparison can be copied as commands", () => {
  const ofTwo = compareSnippets(["a", "b"], "scores", "http://x");
  expect(ofTwo.cli).toBe("tunix-rt compare a b");
  const curves = compareSnippets(["a", "b"], "curves", "http://x");
  expect(curves.curl).toBe("curl http://x/api/tunix/runs/a/metrics\ncurl http://x/api/tunix/runs/b/metrics");
  expect(curves.cli).toBe("tunix-rt runs show a\ntunix-rt runs show b");
  expect(compareSnippets([], "curves", "http://x").cli).toBe("tunix-rt runs list");
});

function validation(step: number, validation_loss: number): object {
  return { step, epoch: 1, validation_loss, validation_tokens: 10, time: "2026-11-15T12:00:03Z" };
}
