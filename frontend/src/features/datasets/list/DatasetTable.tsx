import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DatasetSummary } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { Badge } from "../../../ui/display/Badge";
import { formatAgo, formatCount, formatNumber, formatTime, UNKNOWN } from "../../../ui/display/format";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { buttonClass } from "../../../ui/forms/Button";
import type { Column } from "../../../ui/tables/columns";
import { type Page, usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import styles from "../datasets.module.css";
import { type DatasetQuery, listDatasets } from "../queries";

interface DatasetTableProps {
  /** Part of the dataset key to search for. */
  text: string | undefined;
  chosen: readonly string[];
  onChoose: (chosen: string[]) => void;
}

/** Every dataset of this home. Two of them can be selected to compare. */
export function DatasetTable({ text, chosen, onChoose }: DatasetTableProps): ReactElement {
  const navigate = useNavigate();
  const rows = usePagedRows<DatasetListRow>({
    queryKey: ["datasets", "list", { text }],
    fetchPage: (page) => listRows({ ...page, ...(text !== undefined && { text }) }),
  });

  if (rows.isPending) return <Loading what="Loading datasets…" />;
  if (rows.error) {
    return <ErrorNotice error={rows.error} title="Could not load the datasets" onRetry={rows.refetch} />;
  }
  if (rows.numRows === 0) {
    return text === undefined ? <NoDatasets /> : <p role="status">No dataset key contains “{text}”.</p>;
  }
  return (
    <>
      <p role="status">{formatCount(rows.numRows, "dataset")}. Select two to compare them.</p>
      <VirtualTable
        name="Datasets"
        columns={COLUMNS}
        numRows={rows.numRows}
        rowAt={rows.rowAt}
        rowKey={({ datasetKey }) => datasetKey}
        onRange={rows.onRange}
        onOpen={({ datasetKey }) => void navigate({ to: "/datasets/$datasetKey", params: { datasetKey } })}
        selection={{
          has: ({ datasetKey }) => chosen.includes(datasetKey),
          toggle: ({ datasetKey }) => {
            onChoose(toggled(chosen, datasetKey));
          },
        }}
      />
    </>
  );
}

/** The two that were selected last. */
function toggled(chosen: readonly string[], datasetKey: string): string[] {
  if (chosen.includes(datasetKey)) return chosen.filter((key) => key !== datasetKey);
  return [...chosen, datasetKey].slice(-2);
}

function NoDatasets(): ReactElement {
  return (
    <Empty
      title="No datasets yet"
      actions={
        <Link to="/traces" className={buttonClass()}>
          View traces
        </Link>
      }
    >
      <p>
        A dataset is an immutable selection of traces with splits, statistics and an eval set check. To start with a
        bundled dataset:
      </p>
      <Command>tunix-rt data ingest dev-reasoning-v2</Command>
    </Empty>
  );
}

const COLUMNS: readonly Column<DatasetListRow>[] = [
  {
    key: "dataset",
    header: "Dataset",
    width: "minmax(11rem, 2fr)",
    cell: ({ datasetKey }) => (
      <Link to="/datasets/$datasetKey" params={{ datasetKey }} title={datasetKey}>
        {datasetKey}
      </Link>
    ),
  },
  {
    key: "rows",
    header: "Rows",
    width: "6rem",
    align: "end",
    cell: ({ summary }) =>
      summary === null ? (
        <Badge kind="bad" sign="✕">
          damaged
        </Badge>
      ) : (
        formatNumber(summary.num_rows)
      ),
  },
  {
    key: "splits",
    header: "Rows per split",
    width: "minmax(12rem, 2fr)",
    isSecondary: true,
    cell: ({ summary }) => (summary === null ? UNKNOWN : splitsText(summary.splits)),
  },
  {
    key: "hash",
    header: "Content hash",
    width: "8rem",
    isSecondary: true,
    cell: ({ summary }) =>
      summary === null ? (
        UNKNOWN
      ) : (
        <span className={styles.hash} title={summary.content_hash}>
          {summary.content_hash.slice(0, 10)}
        </span>
      ),
  },
  {
    key: "created",
    header: "Created",
    width: "7rem",
    isSecondary: true,
    cell: ({ summary }) => <time title={formatTime(summary?.created_at)}>{formatAgo(summary?.created_at)}</time>,
  },
];

/** `train 900, validation 100`. */
function splitsText(splits: Readonly<Record<string, number>>): string {
  return Object.entries(splits)
    .map(([name, numRows]) => `${name} ${formatNumber(numRows)}`)
    .join(", ");
}

/** A row of the list. A dataset with an unreadable manifest has no summary. */
interface DatasetListRow {
  datasetKey: string;
  summary: DatasetSummary | null;
}

/** A page of rows sorted by key, including damaged datasets. */
async function listRows(page: DatasetQuery): Promise<Page<DatasetListRow>> {
  const { data, damaged, pagination } = await listDatasets(page);
  const whole = data.map((summary) => ({ datasetKey: summary.dataset_key, summary }));
  const broken = damaged.map((datasetKey) => ({ datasetKey, summary: null }));
  const lines = [...whole, ...broken].sort((a, b) => (a.datasetKey < b.datasetKey ? -1 : 1));
  return { data: lines, pagination };
}
