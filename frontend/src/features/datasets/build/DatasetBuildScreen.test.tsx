import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import type { DatasetPreview, DatasetSpec } from "../../../api/schema.gen";
import { datasetList, makeManifest, makePreview, makeSummary } from "../../../testing/datasets";
import { answer, http, HttpResponse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import { nextVersion } from "./form";
import { buildCommand, errorsOf, specOf } from "./spec";

let requests: DatasetSpec[] = [];

beforeEach(() => {
  requests = [];
  server.use(answer("/api/datasets", datasetList([makeSummary()])));
  previewWith(() => makePreview());
});

function previewWith(preview: (spec: DatasetSpec) => DatasetPreview): void {
  server.use(
    http.post("/api/datasets/preview", async ({ request }) => {
      const spec = (await request.json()) as DatasetSpec;
      requests.push(spec);
      return HttpResponse.json(preview(spec));
    }),
  );
}

test("the counts update as the form changes", async () => {
  previewWith((spec) => makePreview({ num_rows: spec.filters?.source === "gsm8k" ? 3 : 10 }));
  const { user, address } = renderApp("/datasets/new");
  await screen.findByText("10 rows");
  await user.type(screen.getByLabelText("Source"), "gsm8k");
  await screen.findByText("3 rows");
  expect(address()).toContain("source=gsm8k");
  within(screen.getByRole("figure", { name: "Rows per split" })).getByText("validation");
});

test("a dataset is built from the form and opened", async () => {
  let built: DatasetSpec | null = null;
  server.use(
    http.post("/api/datasets/build", async ({ request }) => {
      built = (await request.json()) as DatasetSpec;
      return HttpResponse.json({
        dataset_key: "sums-v1",
        status: "created",
        trace_count: 10,
        manifest: makeManifest(),
      });
    }),
    answer("/api/datasets/sums-v1", makeManifest()),
    answer("/api/datasets/sums-v1/histograms", {
      dataset_key: "sums-v1",
      split: "train",
      num_rows: 0,
      steps: [],
      chars: [],
      scores: [],
      num_unscored: 0,
    }),
  );
  const { user, address } = renderApp("/datasets/new?dedup=near&splits=train%3D1");
  expect(await screen.findByRole("button", { name: "Build dataset" })).toHaveProperty("disabled", true);
  await user.type(screen.getByLabelText("Name"), "sums");
  await user.click(screen.getByRole("button", { name: "Build dataset" }));
  await waitFor(() => {
    expect(address()).toBe("/datasets/sums-v1");
  });
  expect(built).toMatchObject({ dataset_name: "sums", dedup: "near", splits: { train: 1 } });
});

test("a refused build shows the reason", async () => {
  server.use(
    http.post("/api/datasets/build", () =>
      HttpResponse.json({ detail: "It exists.", next_step: "Take v2.", code: "conflict" }, { status: 409 }),
    ),
  );
  const { user } = renderApp("/datasets/new?name=sums");
  await user.click(await screen.findByRole("button", { name: "Build dataset" }));
  expect((await screen.findByRole("alert")).textContent).toContain("Take v2.");
});

test("build problems can be fixed with one click", async () => {
  previewWith((spec) =>
    makePreview({
      dataset_key: "sums-v1",
      is_taken: spec.dataset_version === "v1",
      num_overlapping_rows: spec.remove_contaminated ? 0 : 2,
      is_partial: true,
      num_unscored: 4,
    }),
  );
  const { user, address } = renderApp("/datasets/new?name=sums");
  await user.click(await screen.findByRole("button", { name: "Remove them" }));
  await user.click(await screen.findByRole("button", { name: "Use v2" }));
  await waitFor(() => {
    expect(requests.at(-1)).toMatchObject({ remove_contaminated: true, dataset_version: "v2" });
  });
  expect(address()).toContain("parent=sums-v1");
  screen.getByText(/Based on the first 12/);
  screen.getByText(/4 traces not linted/);
});

test("a filter without matches links to the traces", async () => {
  previewWith(() => makePreview({ num_matching: 0, num_considered: 0, num_rows: 0, removed: [] }));
  renderApp("/datasets/new");
  await screen.findByRole("heading", { name: "No matching traces" });
});

test("an invalid field shows an error and is not sent", async () => {
  renderApp("/datasets/new?splits=train%3D0.5");
  await screen.findByText("The fractions must sum to 1, not 0.5.");
  screen.getByText("Correct the invalid fields above.");
  expect(requests).toEqual([]);
});

test("a form maps to a spec, a command and errors", () => {
  const form = {
    name: "sums",
    tags: "a, b",
    meta: "category=algebra",
    min_score: "80",
    limit: "10",
    contamination: "remove",
  } as const;
  expect(specOf(form)).toEqual({
    dataset_name: "sums",
    dataset_version: "v1",
    filters: { labels: { category: "algebra" }, tags: ["a", "b"], with_codes: [], without_codes: [], min_score: 80 },
    limit: 10,
    splits: { train: 0.9, validation: 0.1 },
    remove_contaminated: true,
  });
  expect(buildCommand(form)).toBe(
    "tunix-rt data build --name sums --tag a --tag b --meta category=algebra --min-score 80 --limit 10 --remove-contaminated",
  );
  expect(Object.keys(errorsOf({ ...form, name: "Über", limit: "0", min_score: "200", meta: "x" }))).toEqual([
    "name",
    "meta",
    "min_score",
    "limit",
  ]);
  expect([nextVersion("v9"), nextVersion("v1a")]).toEqual(["v10", "v1a.1"]);
});
