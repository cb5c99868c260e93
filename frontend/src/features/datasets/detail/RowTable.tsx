import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { readRows } from "../queries";
import type { DatasetManifest, DatasetRow } from "../../../api/schema.gen";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import type { Column } from "../../../ui/tables/columns";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { formatNumber } from "../../../ui/display/format";
import styles from "../datasets.module.css";
import { SplitSelect } from "./SplitSelect";

interface RowTableProps {
  manifest: DatasetManifest;
  split: string;
  onSplit: (split: string) => void;
}

/** The rows of a split. Enter opens the X-ray of a row. */
export function RowTable({ manifest, split, onSplit }: RowTableProps): ReactElement {
  return (
    <div className={styles.stack}>
      <div className={styles.row}>
        <SplitSelect manifest={manifest} split={split} onSplit={onSplit} />
        <p className={styles.muted}>Press Enter on a row to open its X-ray.</p>
      </div>
      <Rows datasetKey={manifest.dataset_key} split={split} />
    </div>
  );
}

function Rows({ datasetKey, split }: { datasetKey: string; split: string }): ReactElement {
  const navigate = useNavigate();
  const rows = usePagedRows<DatasetRow>({
    queryKey: ["datasets", "rows", datasetKey, split],
    fetchPage: (page) => readRows(datasetKey, { split, ...page }),
  });

  if (rows.isPending) return <Loading what="Loading rows…" />;
  if (rows.error) {
    return <ErrorNotice error={rows.error} title="Could not load the rows" onRetry={rows.refetch} />;
  }
  if (rows.numRows === 0) {
    return (
      <Empty title={`The split ${split} is empty`}>
        <p>There were too few questions for its fraction. Build a version with different splits or more traces.</p>
      </Empty>
    );
  }
  return (
    <VirtualTable
      name={`Rows of ${split}`}
      columns={rowColumns(datasetKey, split)}
      numRows={rows.numRows}
      rowAt={rows.rowAt}
      rowKey={(row) => row.trace_id}
      onRange={rows.onRange}
      onOpen={({ index }) =>
        void navigate({ to: "/datasets/$datasetKey/xray", params: { datasetKey }, search: { split, index } })
      }
    />
  );
}

function rowColumns(datasetKey: string, split: string): Column<DatasetRow>[] {
  return [
    {
      key: "index",
      header: "Row",
      width: "5rem",
      align: "end",
      cell: ({ index }) => (
        <Link
          to="/datasets/$datasetKey/xray"
          params={{ datasetKey }}
          search={{ split, index }}
          title="X-ray of this row"
        >
          {formatNumber(index)}
        </Link>
      ),
    },
    {
      key: "prompt",
      header: "Question",
      width: "minmax(12rem, 4fr)",
      cell: ({ trace, trace_id }) => (
        <Link to="/traces/$traceId" params={{ traceId: trace_id }} title={trace.prompt}>
          {trace.prompt}
        </Link>
      ),
    },
    {
      key: "steps",
      header: "Steps",
      width: "5rem",
      align: "end",
      isSecondary: true,
      cell: ({ trace }) => formatNumber(trace.steps.length),
    },
    {
      key: "answer",
      header: "Answer",
      width: "minmax(6rem, 1fr)",
      isSecondary: true,
      cell: ({ trace }) => <span title={trace.final_answer}>{trace.final_answer}</span>,
    },
  ];
}
