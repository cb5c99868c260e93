import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Run, Sparkline as SparklineData } from "../../../api/schema.gen";
import { Sparkline } from "../../../ui/charts/Sparkline";
import type { Column } from "../../../ui/tables/columns";
import { formatAgo, formatDuration, formatNumber, formatTime, formatValue, UNKNOWN } from "../../../ui/display/format";
import { shortRunName } from "../../../ui/display/names";
import { StatusBadge } from "../../../ui/display/StatusBadge";

/** The columns of the list. `sparklines` contains the runs that have metrics. */
export function runColumns(sparklines: ReadonlyMap<string, SparklineData>): Column<Run>[] {
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
