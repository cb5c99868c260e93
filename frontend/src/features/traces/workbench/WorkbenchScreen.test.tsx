import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import type { TraceReview } from "../../../api/schema.gen";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import {
  LINT_CODES,
  lintReport,
  OTHER_ID,
  TRACE_ID,
  traceDetail,
  traceRevision,
  WRONG_TRACE,
} from "../../../testing/traceFixtures";
import { EMPTY_DRAFT, readDraft, reviewCommand, withVerdict } from "./draft";

const ADDRESS = `/traces/${TRACE_ID}/workbench`;

beforeEach(() => {
  server.use(
    answer("/api/traces/lint/codes", LINT_CODES),
    answer(`/api/traces/${TRACE_ID}`, traceDetail()),
    http.post("/api/traces/lint", async ({ request }) => {
      const isWrong = (await request.text()).includes("2 + 3 = 6");
      return HttpResponse.json(isWrong ? lintReport() : lintReport({ score: 100, findings: [] }));
    }),
  );
});

/** Records the reviews that are sent. */
function recordReview(): TraceReview[] {
  const sent: TraceReview[] = [];
  server.use(
    http.post(`/api/traces/${TRACE_ID}/revisions`, async ({ request }) => {
      sent.push((await request.json()) as TraceReview);
      return HttpResponse.json({ id: OTHER_ID, score: 100, revision_of: TRACE_ID }, { status: 201 });
    }),
    answer(`/api/traces/${OTHER_ID}`, traceDetail({ id: OTHER_ID, score: 100 })),
    answer(`/api/traces/${OTHER_ID}/report`, lintReport({ score: 100, findings: [] })),
    answer(`/api/traces/${OTHER_ID}/revisions`, { data: [traceRevision()] }),
  );
  return sent;
}

test("a review by keyboard saves a new version", async () => {
  const sent = recordReview();
  const { user, address } = renderApp(ADDRESS);
  const step = await screen.findByRole("region", { name: "Step 0" });
  await user.keyboard("e");
  const editor = within(step).getByLabelText("Corrected text of step 0");
  await user.clear(editor);
  await user.type(editor, "So 2 + 3 = 5.{Control>}{Enter}{/Control}");
  within(step).getByText("edited");
  await user.keyboard("ja");
  await screen.findByText("2 of 2 steps reviewed");
  expect(address()).toBe(`${ADDRESS}?step=1`);
  await within(screen.getByRole("region", { name: "Linter" })).findByText("100");
  await user.keyboard("s");
  await waitFor(() => {
    expect(address()).toBe(`/traces/${OTHER_ID}`);
  });
  expect(sent).toEqual([
    {
      steps: [
        { i: 0, verdict: "edited", content: "So 2 + 3 = 5." },
        { i: 1, verdict: "accepted" },
      ],
    },
  ]);
  expect(localStorage.getItem(`tunix-rt.review.${TRACE_ID}`)).toBeNull();
});

test("verdicts can be cleared and survive a reload", async () => {
  const { user, unmount } = renderApp(ADDRESS);
  const step = await screen.findByRole("region", { name: "Step 1: verify" });
  await user.click(within(step).getByRole("button", { name: "Reject" }));
  await user.click(screen.getByRole("button", { name: "Accept the rest" }));
  await screen.findByText("2 of 2 steps reviewed");
  unmount();
  const again = renderApp(ADDRESS);
  const reopened = await screen.findByRole("region", { name: "Step 1: verify" });
  const reject = within(reopened).getByRole("button", { name: "Reject" });
  expect(reject.getAttribute("aria-pressed")).toBe("true");
  await again.user.click(reject);
  await screen.findByText("1 of 2 steps reviewed");
  await again.user.keyboard("ku");
  await screen.findByText("0 of 2 steps reviewed");
});

test("a corrected answer is sent", async () => {
  const sent = recordReview();
  const { user } = renderApp(ADDRESS);
  const field = await screen.findByLabelText("Corrected answer");
  await user.clear(field);
  await user.type(field, "5");
  await user.click(screen.getByRole("button", { name: "Save as a new version" }));
  await waitFor(() => {
    expect(sent).toEqual([{ steps: [], final_answer: "5" }]);
  });
});

test("a review that rejects every step cannot be saved", async () => {
  const { user } = renderApp(ADDRESS);
  await screen.findByRole("region", { name: "Step 0" });
  await user.keyboard("xx");
  await screen.findByText(/Every step is rejected/);
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Save as a new version" }).disabled).toBe(true);
});

test("an edit can be cancelled; an empty edit accepts the step", async () => {
  const { user } = renderApp(ADDRESS);
  const step = await screen.findByRole("region", { name: "Step 0" });
  await user.click(within(step).getByRole("button", { name: "Edit" }));
  await user.keyboard("{Escape}");
  within(step).getByText("not reviewed");
  await user.click(within(step).getByRole("button", { name: "Edit" }));
  await user.click(within(step).getByRole("button", { name: "Save edit" }));
  within(step).getByText("accepted");
});

test("a refused review shows why and is results", async () => {
  const body = { detail: "The disk is full.", next_step: "Make room.", code: "storage" };
  server.use(http.post(`/api/traces/${TRACE_ID}/revisions`, () => HttpResponse.json(body, { status: 503 })));
  const { user } = renderApp(ADDRESS);
  await screen.findByRole("region", { name: "Step 0" });
  await user.keyboard("as");
  await screen.findByText("The disk is full. Make room.");
  screen.getByText("1 of 2 steps reviewed");
});

test("reviews can be downloaded", async () => {
  renderApp(ADDRESS);
  const link = await screen.findByRole("link", { name: "Download preferences" });
  expect(link.getAttribute("href")).toBe("/api/traces/revisions/preferences.jsonl");
  screen.getByRole("link", { name: "Download step labels" });
});

test("an unknown trace shows an error", async () => {
  server.use(refuse(`/api/traces/${TRACE_ID}`, 404, "There is no trace."));
  renderApp(ADDRESS);
  expect((await screen.findByRole("alert")).textContent).toContain("There is no trace.");
});

test("a review can be copied as a command", () => {
  const draft = withVerdict({ ...EMPTY_DRAFT, answer: "it's 5" }, WRONG_TRACE, 0, "edited", "2 + 3 = 5");
  const reviewed = withVerdict(withVerdict(draft, WRONG_TRACE, 1, "rejected"), WRONG_TRACE, 7, "accepted");
  expect(reviewCommand("ID", reviewed)).toBe(
    "tunix-rt traces review ID --edit '0=2 + 3 = 5' --reject 1 --accept 7 --answer 'it'\\''s 5'",
  );
  expect([readDraft("{"), readDraft("[]"), readDraft(null)]).toEqual([EMPTY_DRAFT, EMPTY_DRAFT, EMPTY_DRAFT]);
});
