import { Link } from "@tanstack/react-router";
import type { Column } from "../../../ui/tables/columns";
import { Badge } from "../../../ui/display/Badge";
import { formatAgo, formatNumber, formatTime, UNKNOWN } from "../../../ui/display/format";
import styles from "../datasets.module.css";
import type { DatasetListRow } from "./rows";

export const COLUMNS: readonly Column<DatasetListRow>[] = [
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
export function splitsText(splits: Readonly<Record<string, number>>): string {
  return Object.entries(splits)
    .map(([name, numRows]) => `${name} ${formatNumber(numRows)}`)
    .join(", ");
}
