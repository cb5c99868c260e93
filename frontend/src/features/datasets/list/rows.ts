import { type DatasetQuery, listDatasets } from "../queries";
import type { DatasetSummary } from "../../../api/schema.gen";
import type { Page } from "../../../ui/tables/usePagedRows";

/** A row of the list. A dataset with an unreadable manifest has no summary. */
export interface DatasetListRow {
  datasetKey: string;
  summary: DatasetSummary | null;
}

/** A page of rows sorted by key, including damaged datasets. */
export async function listRows(page: DatasetQuery): Promise<Page<DatasetListRow>> {
  const { data, damaged, pagination } = await listDatasets(page);
  const whole = data.map((summary) => ({ datasetKey: summary.dataset_key, summary }));
  const broken = damaged.map((datasetKey) => ({ datasetKey, summary: null }));
  const lines = [...whole, ...broken].sort((a, b) => (a.datasetKey < b.datasetKey ? -1 : 1));
  return { data: lines, pagination };
}
