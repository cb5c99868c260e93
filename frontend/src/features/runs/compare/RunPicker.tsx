import { type ReactElement, useRef } from "react";
import type { Run } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { formatAgo, formatTime, formatValue, shortRunName } from "../../../ui/display/format";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { TextField } from "../../../ui/forms/TextField";
import type { Column } from "../../../ui/tables/columns";
import { type PagedRows, usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { listRuns } from "../queries";
import type { ChangeCompare } from "./search";

interface RunPickerProps {
  runIds: readonly string[];
  text: string | undefined;
  change: ChangeCompare;
}

/** The list of all runs with checkboxes. Shift selects a range. */
export function RunPicker({ runIds, text, change }: RunPickerProps): ReactElement {
  const rows = usePagedRows<Run>({
    queryKey: ["runs", "list", { text }],
    fetchPage: (page) => listRuns({ ...(text !== undefined && { text }), ...page }),
  });
  return (
    <>
      <TextField
        label="Search"
        type="search"
        placeholder="id, recipe, model or dataset"
        value={text ?? ""}
        onChange={(typed) => {
          change({ text: typed });
        }}
      />
      <Found rows={rows} isFiltered={text !== undefined} runIds={runIds} change={change} />
    </>
  );
}

interface FoundProps extends Omit<RunPickerProps, "text"> {
  rows: PagedRows<Run>;
  isFiltered: boolean;
}

function Found({ rows, isFiltered, runIds, change }: FoundProps): ReactElement {
  const last = useRef<string | null>(null);
  if (rows.isPending) return <Loading what="Loading runs…" />;
  if (rows.error) return <ErrorNotice error={rows.error} title="Could not load the runs" onRetry={rows.refetch} />;
  if (rows.numRows === 0) return <NoRuns isFiltered={isFiltered} />;
  const toggle = (run: Run, isRange: boolean): void => {
    const range = isRange ? between(rows, last.current, run.run_id) : [run.run_id];
    const isOn = !runIds.includes(run.run_id);
    const others = runIds.filter((runId) => !range.includes(runId));
    last.current = run.run_id;
    // The list stays open after the first selection.
    change({ run: isOn ? [...others, ...range] : others, choose: true });
  };
  return (
    <VirtualTable
      name="Runs to compare"
      columns={COLUMNS}
      numRows={rows.numRows}
      rowAt={rows.rowAt}
      rowKey={(run) => run.run_id}
      onRange={rows.onRange}
      selection={{ has: (run) => runIds.includes(run.run_id), toggle }}
      height="min(45dvh, 24rem)"
    />
  );
}

/** The ids between two rows, both included. Only the second if the first is not loaded. */
function between(rows: PagedRows<Run>, from: string | null, to: string): string[] {
  const ids = Array.from({ length: rows.numRows }, (_, index) => rows.rowAt(index)?.run_id);
  const [start, end] = [ids.indexOf(from ?? to), ids.indexOf(to)];
  if (start < 0 || end < 0) return [to];
  return ids.slice(Math.min(start, end), Math.max(start, end) + 1).filter((id) => id !== undefined);
}

function NoRuns({ isFiltered }: { isFiltered: boolean }): ReactElement {
  if (isFiltered) return <p>No runs match this search.</p>;
  return (
    <Empty title="No runs yet">
      <p>Compare two runs of one recipe that differ in a setting to see its effect. Start the first run:</p>
      <Command>tunix-rt runs submit smoke_tiny</Command>
    </Empty>
  );
}

const COLUMNS: Column<Run>[] = [
  { key: "status", header: "Status", width: "8.5rem", cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: "run",
    header: "Run",
    width: "minmax(12rem, 2fr)",
    cell: ({ run_id }) => <span title={run_id}>{shortRunName(run_id)}</span>,
  },
  { key: "model", header: "Model", isSecondary: true, cell: ({ model }) => <span title={model}>{model}</span> },
  {
    key: "dataset",
    header: "Dataset",
    isSecondary: true,
    cell: ({ dataset }) => <span title={dataset}>{dataset}</span>,
  },
  {
    key: "loss",
    header: "Loss",
    width: "5.5rem",
    align: "end",
    cell: ({ figures }) => formatValue(figures?.final_loss),
  },
  {
    key: "created",
    header: "Created",
    width: "6rem",
    isSecondary: true,
    cell: ({ created_at }) => <time title={formatTime(created_at)}>{formatAgo(created_at)}</time>,
  },
];
