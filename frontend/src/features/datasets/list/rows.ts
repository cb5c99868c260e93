import { type DatasetQuery, listDatasets } from "../queries";
import type { DatasetSummary } from "../../../api/schema.gen";
import type { Page } from "../../../ui/tables/usePagedRows";

/** A line of the list; a dataset whose manifest cannot be read has no summary. */
export interface DatasetLine {
  datasetKey: string;
  summary: DatasetSummary | null;
}

/** A page of lines, by key: damaged datasets stand where they belong. */
export async function listLines(page: DatasetQuery): Promise<Page<DatasetLine>> {
  const { data, damaged, pagination } = await listDatasets(page);
  const whole = data.map((summary) => ({ datasetKey: summary.dataset_key, summary }));
  const broken = damaged.map((datasetKey) => ({ datasetKey, summary: null }));
  const lines = [...whole, ...broken].sort((a, b) => (a.datasetKey < b.datasetKey ? -1 : 1));
  return { data: lines, pagination };
}
