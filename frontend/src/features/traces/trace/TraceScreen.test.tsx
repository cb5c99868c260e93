import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import {
  LINT_CODES,
  lintReport,
  OTHER_ID,
  storedComparison,
  TRACE_ID,
  traceDetail,
  traceList,
  traceRevision,
  WRONG_TRACE,
} from "../../../testing/traceFixtures";
import { markedPieces, groupFindings } from "../parts/marks";

const AT = `/api/traces/${TRACE_ID}`;

beforeEach(() => {
  server.use(
    answer("/api/traces/lint/codes", LINT_CODES),
    answer(AT, traceDetail()),
    answer(`${AT}/report`, lintReport()),
    answer(`${AT}/revisions`, { data: [traceRevision()] }),
  );
});

test("a trace shows its steps with findings underlined", async () => {
  renderApp(`/traces/${TRACE_ID}`);
  const step = await screen.findByRole("region", { name: "Step 0" });
  await waitFor(() => {
    expect(step.querySelector("mark")?.textContent).toBe("2 + 3 = 6");
  });
  within(step).getByText("A calculation is not right.");
  expect(within(step).getByRole("list", { name: "Findings" }).textContent).toContain("expected 5");
  screen.getByRole("region", { name: "Step 1: verify" });
  expect(screen.getByRole("region", { name: "Linter" }).textContent).toContain("Score 40 of 100, 1 finding");
});

test("metadata links to traces with the same value", async () => {
  renderApp(`/traces/${TRACE_ID}`);
  const facts = await screen.findByRole("region", { name: "Details" });
  const link = within(facts).getByRole("link", { name: "books" });
  expect(decodeURIComponent(link.getAttribute("href") ?? "")).toBe('/traces?meta=["source=books"]');
  within(facts).getByText('{"deep":1}');
});

test("an unlinted trace is linted on request", async () => {
  server.use(answer(`${AT}/report`, { detail: "Never linted.", next_step: "Lint it.", code: "not-found" }, 404));
  const { user } = renderApp(`/traces/${TRACE_ID}`);
  await screen.findByText(/has not been linted/);
  server.use(
    answer(`${AT}/report`, lintReport()),
    http.post(`${AT}/score`, () => HttpResponse.json({ score: 40 }, { status: 201 })),
  );
  await user.click(screen.getByRole("button", { name: "Lint" }));
  await screen.findByRole("button", { name: "Lint again" });
});

test("versions are listed with their verdicts", async () => {
  const repaired = traceRevision({
    id: OTHER_ID,
    score: 100,
    revision_of: TRACE_ID,
    step_verdicts: { "0": "edited", "1": "accepted" },
  });
  server.use(answer(`${AT}/revisions`, { data: [repaired, traceRevision()] }));
  renderApp(`/traces/${TRACE_ID}`);
  const versions = await screen.findByRole("region", { name: "Versions" });
  await within(versions).findByText("1 accepted, 1 edited");
  within(versions).getByText("0f8fad5b (this version)");
  const link = within(versions).getByRole("link", { name: "Compare with 0f8fad5b" });
  expect(link.getAttribute("href")).toContain(`base=${TRACE_ID}&other=${OTHER_ID}`);
});

test("deleting a trace asks for confirmation", async () => {
  let isGone = false;
  server.use(
    answer("/api/traces", traceList({})),
    http.delete(AT, () => {
      isGone = true;
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user, address } = renderApp(`/traces/${TRACE_ID}`);
  await user.click(await screen.findByRole("button", { name: "Delete…" }));
  expect(isGone).toBe(false);
  await user.click(screen.getByRole("button", { name: "Delete trace" }));
  await waitFor(() => {
    expect(address()).toBe("/traces");
  });
  expect(isGone).toBe(true);
});

test("a read-only session cannot lint or delete", async () => {
  server.use(answer("/api/session", { scope: "read" }));
  renderApp(`/traces/${TRACE_ID}`);
  await screen.findByRole("region", { name: "Step 0" });
  await screen.findByText(/Score/);
  expect(screen.queryByRole("button", { name: /Delete|Lint/ })).toBeNull();
});

test("an unknown trace shows an error", async () => {
  server.use(refuse(AT, 404, "There is no trace."));
  renderApp(`/traces/${TRACE_ID}`);
  expect((await screen.findByRole("alert")).textContent).toContain("There is no trace.");
});

test("findings mark whole formulas and count code points", () => {
  expect(markedPieces("So $2 + 3 = 6$.", [[4, 13]]).map(({ text, marks }) => [text, marks])).toEqual([
    ["So ", []],
    ["$2 + 3 = 6$", [0]],
    [".", []],
  ]);
  expect(markedPieces("🧮 1 + 1 = 3", [[2, 11]]).map(({ text }) => text)).toEqual(["🧮 ", "1 + 1 = 3"]);
});

test("a finding without a step is matched by its text", () => {
  const about = (code: string, found: string, span: [number, number]) => ({ code, step: null, span, found });
  const inAnswer = about("answer-mismatch", "6", [0, 1]);
  const inPrompt = about("markup-unsafe", "What", [0, 4]);
  const stated = about("answer-in-prompt", "6", [0, 1]);
  const grouped = groupFindings(WRONG_TRACE, [inAnswer, inPrompt, stated]);
  expect(grouped.answer).toEqual([inAnswer]);
  expect(grouped.prompt).toEqual([inPrompt, stated]);
});

test("compared traces have aligned steps", async () => {
  server.use(answer("/api/traces/compare", storedComparison()));
  const { user, address } = renderApp(`/traces/compare?base=${TRACE_ID}&other=${OTHER_ID}`);
  const changed = await screen.findByRole("region", { name: "Line 1: changed" });
  expect(changed.querySelector("del")?.textContent).toBe("6.");
  expect(changed.querySelector("ins")?.textContent).toBe("5.");
  within(screen.getByRole("region", { name: "Line 2: only in the first" })).getByText("No matching step.");
  screen.getByRole("region", { name: "Line 3: only in the second" });
  expect(screen.getByRole("link", { name: "line 1" }).getAttribute("href")).toBe("#line-0");
  await user.click(screen.getByRole("button", { name: "Swap sides" }));
  await waitFor(() => {
    expect(address()).toContain(`base=${OTHER_ID}&other=${TRACE_ID}`);
  });
});

test("the comparison asks for two traces", async () => {
  server.use(refuse("/api/traces/compare", 404, "There is no trace."));
  const { user } = renderApp("/traces/compare");
  await user.click(await screen.findByLabelText("First trace id"));
  await user.paste(TRACE_ID);
  await user.click(screen.getByLabelText("Second trace id"));
  await user.paste(OTHER_ID);
  await user.click(screen.getByRole("button", { name: "Compare" }));
  expect((await screen.findByRole("alert")).textContent).toContain("There is no trace.");
});
