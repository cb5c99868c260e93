import { api, unwrap } from "./client";
import type {
  BuildOutcome,
  DatasetDiff,
  DatasetList,
  DatasetManifest,
  DatasetSpec,
  operations,
  RowPage,
  XrayReport,
} from "./schema.gen";

type QueryOf<Operation extends keyof operations> = NonNullable<operations[Operation]["parameters"]["query"]>;
export type DatasetQuery = QueryOf<"list_datasets_api_datasets_get">;
export type RowQuery = QueryOf<"read_rows_api_datasets__dataset_key__rows_get">;
export type XrayQuery = QueryOf<"get_xray_api_datasets__dataset_key__xray_get">;

/** Build a dataset from stored traces; the same content again changes nothing. */
export function buildDataset(spec: DatasetSpec): Promise<BuildOutcome> {
  return unwrap(api.POST("/api/datasets/build", { body: spec }));
}

/** A page of datasets by key. */
export function listDatasets(query: DatasetQuery = {}): Promise<DatasetList> {
  return unwrap(api.GET("/api/datasets", { params: { query } }));
}

/** What a dataset holds and where it comes from. */
export function getDataset(datasetKey: string): Promise<DatasetManifest> {
  return unwrap(api.GET("/api/datasets/{dataset_key}", { params: at(datasetKey) }));
}

/** A page of the rows of a split, the first split unless named. */
export function readRows(datasetKey: string, query: RowQuery = {}): Promise<RowPage> {
  return unwrap(api.GET("/api/datasets/{dataset_key}/rows", { params: { ...at(datasetKey), query } }));
}

/** What `otherKey` changed against `datasetKey`. */
export function diffDatasets(datasetKey: string, otherKey: string): Promise<DatasetDiff> {
  const params = { ...at(datasetKey), query: { other: otherKey } };
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

/** Remove a dataset; its traces stay. */
export async function deleteDataset(datasetKey: string): Promise<void> {
  await unwrap(api.DELETE("/api/datasets/{dataset_key}", { params: at(datasetKey) }));
}

function at(datasetKey: string) {
  return { path: { dataset_key: datasetKey } };
}
