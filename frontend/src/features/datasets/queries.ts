import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import { listRuns } from "../runs/queries";
import type {
  BuildOutcome,
  DatasetDiff,
  DatasetHistograms,
  DatasetList,
  DatasetManifest,
  DatasetPreview,
  DatasetSpec,
  DatasetVerdict,
  operations,
  RowPage,
  XrayReport,
} from "../../api/schema.gen";

type QueryOf<Operation extends keyof operations> = NonNullable<operations[Operation]["parameters"]["query"]>;
export type DatasetQuery = QueryOf<"list_datasets_api_datasets_get">;
export type RowQuery = QueryOf<"read_rows_api_datasets__dataset_key__rows_get">;
export type XrayQuery = QueryOf<"get_xray_api_datasets__dataset_key__xray_get">;
export type DiffPage = Omit<QueryOf<"diff_api_datasets__dataset_key__diff_get">, "other">;

const MAX_CHOICES = 100;
const NO_SPEC: DatasetSpec = { dataset_name: "preview" };

/** Build a dataset from stored traces. Rebuilding the same content changes nothing. */
export function buildDataset(spec: DatasetSpec): Promise<BuildOutcome> {
  return unwrap(api.POST("/api/datasets/build", { body: spec }));
}

/** A page of datasets by key. */
export function listDatasets(query: DatasetQuery = {}): Promise<DatasetList> {
  return unwrap(api.GET("/api/datasets", { params: { query } }));
}

/** The manifest of a dataset: its contents and lineage. */
export function getDataset(datasetKey: string): Promise<DatasetManifest> {
  return unwrap(api.GET("/api/datasets/{dataset_key}", { params: at(datasetKey) }));
}

/** A page of the rows of a split, by default the first split. */
export function readRows(datasetKey: string, query: RowQuery = {}): Promise<RowPage> {
  return unwrap(api.GET("/api/datasets/{dataset_key}/rows", { params: { ...at(datasetKey), query } }));
}

/** The changes from `datasetKey` to `otherKey`. */
export function diffDatasets(datasetKey: string, otherKey: string, page: DiffPage = {}): Promise<DatasetDiff> {
  const params = { ...at(datasetKey), query: { other: otherKey, ...page } };
  return unwrap(api.GET("/api/datasets/{dataset_key}/diff", { params }));
}

/**
 * Each token of an example as trained, masked or padding.
 *
 * @example
 * const { findings } = await xrayDataset("dev-reasoning-v2", { model: "tiny", index: 3 });
 */
export function xrayDataset(datasetKey: string, query: XrayQuery = {}): Promise<XrayReport> {
  return unwrap(api.GET("/api/datasets/{dataset_key}/xray", { params: { ...at(datasetKey), query } }));
}

/** Delete a dataset. Its traces stay. */
export async function deleteDataset(datasetKey: string): Promise<void> {
  await unwrap(api.DELETE("/api/datasets/{dataset_key}", { params: at(datasetKey) }));
}

/** Hash and read all rows again, and compare with the manifest. */
export function verifyDataset(datasetKey: string): Promise<DatasetVerdict> {
  return unwrap(api.POST("/api/datasets/{dataset_key}/verify", { params: at(datasetKey) }));
}

/** The datasets to choose from: the first 100 by key. */
export const datasetChoicesQuery = queryOptions({
  queryKey: ["datasets", "choices"],
  queryFn: () => listDatasets({ limit: MAX_CHOICES }),
});

// Datasets are immutable, so the cache never expires.
export const datasetQuery = (datasetKey: string) =>
  queryOptions({
    queryKey: ["datasets", "one", datasetKey],
    queryFn: () => getDataset(datasetKey),
    staleTime: Infinity,
  });

/** Histograms of steps, lengths and scores of a split. The scores are current, not those at build time. */
export const histogramsQuery = (datasetKey: string, split: string) =>
  queryOptions({
    queryKey: ["datasets", "histograms", datasetKey, split],
    queryFn: (): Promise<DatasetHistograms> =>
      unwrap(api.GET("/api/datasets/{dataset_key}/histograms", { params: { ...at(datasetKey), query: { split } } })),
  });

/** The runs that train on a dataset, newest first. */
export const runsOfDatasetQuery = (datasetKey: string) =>
  queryOptions({
    queryKey: ["runs", "of-dataset", datasetKey],
    queryFn: () => listRuns({ dataset: datasetKey, limit: 20 }),
  });

export const diffQuery = (datasetKey: string, otherKey: string, page: DiffPage) =>
  queryOptions({
    queryKey: ["datasets", "diff", datasetKey, otherKey, page],
    queryFn: () => diffDatasets(datasetKey, otherKey, page),
    placeholderData: keepPreviousData,
  });

export const xrayQuery = (datasetKey: string, query: XrayQuery) =>
  queryOptions({
    queryKey: ["datasets", "xray", datasetKey, query],
    queryFn: () => xrayDataset(datasetKey, query),
    placeholderData: keepPreviousData,
  });

/** The row counts of a build. The previous counts stay visible until the new ones arrive. */
export const previewQuery = (spec: DatasetSpec | null) =>
  queryOptions({
    queryKey: ["datasets", "preview", spec],
    queryFn: (): Promise<DatasetPreview> => unwrap(api.POST("/api/datasets/preview", { body: spec ?? NO_SPEC })),
    enabled: spec !== null,
    placeholderData: keepPreviousData,
  });

/** The download path of a dataset. */
export function exportPath(datasetKey: string, format: string, fileType: "jsonl" | "parquet"): string {
  return `/api/datasets/${datasetKey}/export.${fileType}?format=${format}`;
}

function at(datasetKey: string) {
  return { path: { dataset_key: datasetKey } };
}
