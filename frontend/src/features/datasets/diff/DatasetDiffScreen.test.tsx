import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import type { DatasetDiff } from "../../../api/schema.gen";
import { datasetList, makeStatistics, makeSummary } from "../../../testing/datasets";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";

const DIFF: DatasetDiff = {
  base: "sums-v1",
  other: "sums-v2",
  identical: false,
  num_unchanged: 7,
  num_added: 25,
  num_removed: 1,
  num_answers_changed: 1,
  num_splits_moved: 1,
  added: [{ trace_id: "t-1", split: "train", prompt_start: "What is 1 + 1?", final_answer: "2" }],
  removed: [{ trace_id: "t-2", split: "train", prompt_start: "What is 3 + 3?", final_answer: "6" }],
  answers_changed: [{ prompt_start: "What is 5 + 5?", base_answers: ["11"], other_answers: ["10"] }],
  splits_moved: [{ prompt_start: "What is 7 + 7?", base_split: "validation", other_split: "train" }],
  base_statistics: { train: makeStatistics() },
  other_statistics: { train: makeStatistics({ num_rows: 33 }) },
};

beforeEach(() => {
  const summaries = [makeSummary(), makeSummary({ dataset_key: "sums-v2" })];
  server.use(answer("/api/datasets", datasetList(summaries)), answer("/api/datasets/sums-v1/diff", DIFF));
});

test("differing rows, answers, splits and statistics are shown", async () => {
  renderApp("/datasets/sums-v1/diff?other=sums-v2");
  within(await screen.findByRole("table", { name: "Rows added" })).getByRole("link", { name: "What is 1 + 1?" });
  within(screen.getByRole("table", { name: "Rows removed" })).getByText("What is 3 + 3?");
  screen.getByRole("table", { name: "Questions with changed answers" });
  screen.getByRole("table", { name: "Questions that moved to another split" });
  within(screen.getByRole("row", { name: /train: rows/ })).getByText("+24");
  screen.getByText(/may have seen the held-out questions of sums-v2/);
});

test("the other dataset is chosen and changes are paged", async () => {
  const requests: string[] = [];
  server.use(
    http.get("/api/datasets/sums-v1/diff", ({ request }) => {
      requests.push(new URL(request.url).search);
      return HttpResponse.json(DIFF);
    }),
  );
  const { user, address } = renderApp("/datasets/sums-v1/diff");
  await screen.findByRole("heading", { name: "Choose a dataset" });
  await screen.findByRole("option", { name: "sums-v2" });
  await user.selectOptions(screen.getByLabelText("Compare with"), "sums-v2");
  await user.click(await screen.findByRole("button", { name: "Next" }));
  await waitFor(() => {
    expect(requests.at(-1)).toBe("?other=sums-v2&limit=20&offset=20");
  });
  await user.click(screen.getByRole("button", { name: "Previous" }));
  await waitFor(() => {
    expect(address()).not.toContain("offset=20");
  });
});

test("identical datasets are reported", async () => {
  const same = { num_added: 0, num_removed: 0, num_answers_changed: 0, num_splits_moved: 0 };
  const lists = { added: [], removed: [], answers_changed: [], splits_moved: [] };
  server.use(answer("/api/datasets/sums-v1/diff", { ...DIFF, ...same, ...lists, identical: true }));
  renderApp("/datasets/sums-v1/diff?other=sums-v2");
  await screen.findByRole("heading", { name: "The datasets are identical" });
});

test("a failed comparison can be retried", async () => {
  server.use(refuse("/api/datasets/sums-v1/diff", 404, "There is no dataset 'x'."));
  const { user } = renderApp("/datasets/sums-v1/diff?other=x");
  await screen.findByText("There is no dataset 'x'.");
  server.use(answer("/api/datasets/sums-v1/diff", DIFF));
  await user.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByRole("table", { name: "Rows added" });
});
