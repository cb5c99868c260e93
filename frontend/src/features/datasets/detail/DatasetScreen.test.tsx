import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { makeManifest } from "../../../testing/datasets";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import { makeRun, runList } from "../../../testing/runs";
import { sumTrace } from "../../../testing/traces";
import { filterText } from "./Origin";

const HISTOGRAMS = {
  dataset_key: "sums-v1",
  split: "train",
  num_rows: 9,
  steps: [{ low: 1, high: 2, count: 9 }],
  chars: [{ low: 200, high: 400, count: 9 }],
  scores: [
    { low: 95, high: 100, count: 2 },
    { low: 100, high: 105, count: 6 },
  ],
  num_unscored: 1,
};

beforeEach(() => {
  server.use(
    answer("/api/datasets/sums-v1", makeManifest()),
    answer("/api/datasets/sums-v1/histograms", HISTOGRAMS),
    answer("/api/tunix/runs", runList([makeRun({ dataset: "sums-v1" })])),
  );
});

test("statistics and warnings are shown", async () => {
  renderApp("/datasets/sums-v1");
  const lengths = await screen.findByRole("figure", { name: "Rows by length in characters" });
  within(lengths).getByText("200–399");
  within(screen.getByRole("figure", { name: "Rows by category" })).getByText("algebra");
  within(screen.getByRole("figure", { name: /linter score/ })).getByText("100");
  screen.getByText(/1 questions have rows that disagree/);
  screen.getByText(/1 row without a linter score \(of 9\)/);
  screen.getByText("no eval questions");
});

test("the selected split is in the URL", async () => {
  const { user, address } = renderApp("/datasets/sums-v1");
  await user.selectOptions(await screen.findByLabelText("Split"), "validation");
  await waitFor(() => {
    expect(address()).toContain("split=validation");
  });
});

test("rows link to their trace and X-ray", async () => {
  const trace = sumTrace(1, 2, "gsm8k");
  server.use(
    answer("/api/datasets/sums-v1/rows", {
      dataset_key: "sums-v1",
      split: "train",
      data: [{ index: 0, trace_id: "t-1", trace }],
      pagination: { limit: 100, offset: 0, total: 1, total_is_exact: true },
    }),
  );
  renderApp("/datasets/sums-v1?tab=rows");
  const row = await screen.findByRole("row", { name: /Ana has 1 marbles/ });
  expect(within(row).getByRole("link", { name: "0" }).getAttribute("href")).toBe(
    "/datasets/sums-v1/xray?split=train&index=0",
  );
  expect(within(row).getByRole("link", { name: trace.prompt }).getAttribute("href")).toBe("/traces/t-1");
});

test("the origin shows filters, removed rows, parent and runs", async () => {
  renderApp("/datasets/sums-v1?tab=origin");
  await screen.findByRole("link", { name: "smoke-1" });
  screen.getByText("source gsm8k, score ≥ 80");
  expect(screen.getByRole("link", { name: "View changes" }).getAttribute("href")).toBe(
    "/datasets/sums-v0/diff?other=sums-v1",
  );
  within(screen.getByRole("figure", { name: "From traces to rows" })).getByText("− exact duplicates");
  screen.getByRole("table", { name: "Removed rows" });
});

test("overlaps with eval sets are listed", async () => {
  const contamination = {
    ...makeManifest().contamination,
    verdict: "allowed" as const,
    num_overlapping_rows: 7,
    overlaps: [
      { trace_id: "aaaaaaaa-1", evalset: "eval_v2", item_id: "q1", kind: "same-question" as const, similarity: 1 },
    ],
  };
  server.use(answer("/api/datasets/sums-v1", makeManifest({ contamination })));
  renderApp("/datasets/sums-v1?tab=contamination");
  await screen.findByText("eval_v2/q1");
  screen.getByText("7 rows, showing the first 1:");
  screen.getByText("contains eval questions");
});

test("a dataset is verified and deleted after confirmation", async () => {
  let isDeleted = false;
  server.use(
    http.post("/api/datasets/sums-v1/verify", () =>
      HttpResponse.json({
        dataset_key: "sums-v1",
        intact: false,
        content_hash: "x",
        num_rows: 9,
        problems: ["A row is gone."],
      }),
    ),
    http.delete("/api/datasets/sums-v1", () => {
      isDeleted = true;
      return new HttpResponse(null, { status: 204 });
    }),
    answer("/api/datasets", {
      data: [],
      damaged: [],
      pagination: { limit: 100, offset: 0, total: 0, total_is_exact: true },
    }),
  );
  const { user, address } = renderApp("/datasets/sums-v1");
  await user.click(await screen.findByRole("button", { name: "Verify" }));
  await screen.findByText(/Damaged: A row is gone/);
  await user.click(screen.getByRole("button", { name: "Delete…" }));
  await user.click(screen.getByRole("button", { name: "Delete dataset" }));
  await waitFor(() => {
    expect(address()).toBe("/datasets");
  });
  expect(isDeleted).toBe(true);
});

test("an export offers downloads and a command", async () => {
  const { user } = renderApp("/datasets/sums-v1");
  await user.click(await screen.findByRole("button", { name: "Export…" }));
  await user.selectOptions(screen.getByLabelText("Row format"), "messages");
  expect(screen.getByRole("link", { name: "train only" }).getAttribute("href")).toBe(
    "/api/datasets/sums-v1/export.jsonl?format=messages&split=train",
  );
  screen.getByText("tunix-rt data export sums-v1 --format messages --file-type jsonl --output sums-v1");
});

test("the next version reuses the build settings", async () => {
  renderApp("/datasets/sums-v1");
  const link = await screen.findByRole("link", { name: "Next version" });
  const search = new URL(link.getAttribute("href") ?? "", "http://x").searchParams;
  expect([search.get("name"), search.get("version"), search.get("parent")]).toEqual(["sums", "v2", "sums-v1"]);
  expect(search.get("source")).toBe("gsm8k");
});

test("an unknown dataset shows an error", async () => {
  server.use(refuse("/api/datasets/nothing-v1", 404, "There is no dataset 'nothing-v1'."));
  renderApp("/datasets/nothing-v1");
  expect((await screen.findByRole("alert")).textContent).toContain("There is no dataset");
});

test("filters are described in words", () => {
  expect(filterText()).toBe("all");
  expect(filterText({ labels: { category: "algebra" }, tags: ["a"], without_codes: ["x"], query: "two" })).toBe(
    "category algebra, tag a, without x, words “two”",
  );
});
