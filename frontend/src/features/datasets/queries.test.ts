import { beforeAll, expect, test } from "vitest";
import { sumTrace } from "../../testing/traces";
import { buildDataset, deleteDataset, diffDatasets, getDataset, listDatasets, readRows, xrayDataset } from "./queries";
import type { DatasetSpec, XrayToken } from "../../api/schema.gen";
import { createTraces } from "../traces/queries";

const SOURCE = "marbles for datasets";
const SPEC: DatasetSpec = { dataset_name: "marbles", filters: { source: SOURCE }, splits: { train: 1 } };

beforeAll(async () => {
  await createTraces(Array.from({ length: 12 }, (_, left) => sumTrace(left + 1, 100, SOURCE)));
  await buildDataset(SPEC);
});

test("a built dataset is listed with its manifest", async () => {
  const { data } = await listDatasets();
  const manifest = await getDataset("marbles-v1");

  expect(data.map((dataset) => dataset.dataset_key)).toContain("marbles-v1");
  expect(manifest.num_rows).toBe(12);
});

test("rebuilding the same content changes nothing", async () => {
  expect((await buildDataset(SPEC)).status).toBe("unchanged");
});

test("different content under the same key is refused", async () => {
  await expect(buildDataset({ ...SPEC, limit: 5 })).rejects.toMatchObject({ status: 409, code: "conflict" });
});

test("rows are read page by page", async () => {
  const page = await readRows("marbles-v1", { limit: 2, offset: 1 });

  expect(page.data).toHaveLength(2);
  expect(page.pagination).toMatchObject({ total: 12, next_offset: 3 });
});

test("a diff counts removed rows", async () => {
  await buildDataset({ ...SPEC, dataset_version: "v2", limit: 5 });

  const diff = await diffDatasets("marbles-v1", "marbles-v2");
  await deleteDataset("marbles-v2");

  expect(diff.num_removed).toBe(7);
});

test("an X-ray trains the answer and masks the prompt", async () => {
  const report = await xrayDataset("marbles-v1", { model: "tiny", index: 0 });

  const tokens = report.rows.flatMap((row) => row.tokens);
  const statesOf = (part: XrayToken["part"]) =>
    new Set(tokens.filter((token) => token.part === part).map((token) => token.state));

  expect(statesOf("prompt")).toEqual(new Set(["masked"]));
  expect(statesOf("answer")).toEqual(new Set(["trained"]));
  expect(report.passed).toBe(true);
});
