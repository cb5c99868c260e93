import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import type { Run, Sparkline as SparklineData } from "../../../api/schema.gen";
import { Sparkline } from "../../../ui/charts/Sparkline";
import { Command } from "../../../ui/copy/Command";
import {
  formatAgo,
  formatCount,
  formatDuration,
  formatNumber,
  formatTime,
  formatValue,
  shortRunName,
  UNKNOWN,
} from "../../../ui/display/format";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { buttonClass } from "../../../ui/forms/Button";
import type { Column } from "../../../ui/tables/columns";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { listRuns, sparklinesQuery } from "../queries";
import type { RunFilters } from "./filters";

const POLL_MS = 2_000;
/** The route's limit of ids per request. */
const MAX_SPARKLINES = 100;

interface RunTableProps {
  filters: RunFilters;
  /** The selected run ids, in order of selection. */
  selected: readonly string[];
  onSelect: (runIds: string[]) => void;
}

/** The runs that match the filters, with live status. Selected runs can be compared. */
export function RunTable({ filters, selected, onSelect }: RunTableProps): ReactElement {
  const navigate = useNavigate();
  const [range, setRange] = useState({ first: 0, last: 0 });
  const rows = usePagedRows<Run>({
    queryKey: ["runs", "list", filters],
    fetchPage: (page) => listRuns({ ...filters, ...page }),
    refetchInterval: POLL_MS,
  });
  const sparklines = useSparklines(visibleRuns(rows.rowAt, range.first, range.last));

  if (rows.isPending) return <Loading what="Loading runs…" />;
  if (rows.error) return <ErrorNotice error={rows.error} title="Could not load the runs" onRetry={rows.refetch} />;
  if (rows.numRows === 0) return <NoRuns isFiltered={Object.keys(filters).length > 0} />;
  return (
    <>
      <p role="status">
        {formatCount(rows.numRows, "run")}
        {selected.length > 0
          ? `, ${selected.length} selected: the first is the base`
          : ". Select runs to compare them."}
      </p>
      <VirtualTable
        name="Runs"
        columns={runColumns(sparklines)}
        numRows={rows.numRows}
        rowAt={rows.rowAt}
        rowKey={(run) => run.run_id}
        onRange={(first, last) => {
          rows.onRange(first, last);
          setRange({ first, last });
        }}
        selection={{
          has: ({ run_id }) => selected.includes(run_id),
          toggle: ({ run_id }) => {
            onSelect(selected.includes(run_id) ? selected.filter((id) => id !== run_id) : [...selected, run_id]);
          },
        }}
        onOpen={(run) => void navigate({ to: "/runs/$runId", params: { runId: run.run_id } })}
      />
    </>
  );
}

function useSparklines(runs: readonly Run[]): ReadonlyMap<string, SparklineData> {
  const { data } = useQuery({ ...sparklinesQuery(runs), placeholderData: (previous) => previous });
  return new Map(data?.data.map((line) => [line.run_id, line]));
}

function visibleRuns(rowAt: (index: number) => Run | undefined, first: number, last: number): Run[] {
  const indices = Array.from({ length: Math.min(last - first + 1, MAX_SPARKLINES) }, (_, index) => first + index);
  return indices.map(rowAt).filter((run) => run !== undefined);
}

function NoRuns({ isFiltered }: { isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <Empty title="No runs match these filters">
        <p>Clear the filters or broaden the search.</p>
      </Empty>
    );
  }
  return (
    <Empty
      title="No runs yet"
      actions={
        <Link to="/launch" className={buttonClass()}>
          Plan a run
        </Link>
      }
    >
      <p>A run trains a model from a recipe and keeps all evidence of it. A tiny one takes a minute on any machine:</p>
      <Command>tunix-rt runs submit smoke_tiny</Command>
    </Empty>
  );
}

/** The columns of the list. `sparklines` contains the runs that have metrics. */
function runColumns(sparklines: ReadonlyMap<string, SparklineData>): Column<Run>[] {
  return [
    {
      key: "status",
      header: "Status",
      width: "8rem",
      cell: (run) => <StatusBadge status={run.status} isHeld={run.is_held} />,
    },
    {
      key: "run",
      header: "Run",
      width: "minmax(9rem, 1fr)",
      cell: ({ run_id }) => <RunLink runId={run_id} />,
    },
    {
      key: "loss",
      header: "Loss curve",
      width: "5.25rem",
      isSecondary: true,
      cell: ({ run_id }) => (
        <Sparkline label={`Loss of ${run_id}`} values={sparklines.get(run_id)?.losses ?? []} width={72} />
      ),
    },
    {
      key: "step",
      header: "Step",
      width: "7rem",
      align: "end",
      isSecondary: true,
      cell: (run) => stepsOf(run, sparklines.get(run.run_id)),
    },
    {
      key: "final",
      header: "Loss",
      width: "5.25rem",
      align: "end",
      cell: (run) => formatValue(run.figures?.final_loss ?? sparklines.get(run.run_id)?.losses.at(-1)),
    },
    {
      key: "origin",
      header: "Model and dataset",
      width: "10.5rem",
      isSecondary: true,
      cell: ({ model, dataset }) => <span title={`${model} on ${dataset}`}>{`${model} on ${dataset}`}</span>,
    },
    ...TIME_COLUMNS,
  ];
}

const TIME_COLUMNS: Column<Run>[] = [
  {
    key: "created",
    header: "Created",
    width: "6rem",
    isSecondary: true,
    cell: (run) => <time title={formatTime(run.created_at)}>{formatAgo(run.created_at)}</time>,
  },
  {
    key: "duration",
    header: "Duration",
    width: "5.75rem",
    align: "end",
    isSecondary: true,
    cell: (run) => formatDuration(durationOf(run)),
  },
];

function RunLink({ runId }: { runId: string }): ReactElement {
  return (
    <Link to="/runs/$runId" params={{ runId }} title={runId}>
      {shortRunName(runId)}
    </Link>
  );
}

function stepsOf(run: Run, sparkline: SparklineData | undefined): string {
  if (run.figures) return `${formatNumber(run.figures.num_steps)} / ${formatNumber(run.figures.num_planned_steps)}`;
  return sparkline === undefined ? UNKNOWN : formatNumber(sparkline.steps.at(-1));
}

/** Seconds from the start of the run to its end, or to now. */
function durationOf(run: Run): number | null {
  if (!run.started_at) return null;
  const end = run.finished_at ? Date.parse(run.finished_at) : Date.now();
  return (end - Date.parse(run.started_at)) / 1_000;
}
