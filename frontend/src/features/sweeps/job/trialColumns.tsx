import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { TuningJobDetail, TuningTrial } from "../../../api/schema.gen";
import type { Column, Sort } from "../../../ui/tables/columns";
import { Badge } from "../../../ui/display/Badge";
import { formatDuration, UNKNOWN } from "../../../ui/display/format";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import { formatMetric, formatParam, metricName } from "../format";
import { bestTrial, numberOf } from "./axes";

const REASON: Column<TuningTrial> = {
  key: "error",
  header: "Error",
  width: "minmax(8rem, 2fr)",
  isSecondary: true,
  cell: ({ error }) => (error == null ? UNKNOWN : <span title={error}>{error}</span>),
};

/** The columns of the trial table. */
export function trialColumns(job: TuningJobDetail): Column<TuningTrial>[] {
  return [
    { key: "number", header: "Trial", width: "4.5rem", align: "end", isSortable: true, cell: numberOf },
    { key: "status", header: "Status", width: "8rem", isSortable: true, cell: (trial) => <TrialState trial={trial} /> },
    {
      key: "value",
      header: metricName(job.metric_name),
      width: "minmax(7rem, 1fr)",
      align: "end",
      isSortable: true,
      cell: (trial) => <TrialValue job={job} trial={trial} />,
    },
    ...Object.keys(job.spec.search_space).map((key) => ({
      key,
      header: key.split(".").at(-1) ?? key,
      align: "end" as const,
      isSortable: true,
      cell: ({ params }: TuningTrial) => formatParam(params[key]),
    })),
    {
      key: "run",
      header: "Run",
      width: "minmax(10rem, 1.5fr)",
      cell: ({ run_id }) => (
        <Link to="/runs/$runId" params={{ runId: run_id }} title={run_id}>
          {run_id}
        </Link>
      ),
    },
    {
      key: "took",
      header: "Duration",
      width: "6rem",
      align: "end",
      isSecondary: true,
      isSortable: true,
      cell: (trial) => formatDuration(secondsOf(trial)),
    },
    ...(job.trials.some(({ error }) => error != null) ? [REASON] : []),
  ];
}

function TrialState({ trial: { status } }: { trial: TuningTrial }): ReactElement {
  if (status !== "pruned") return <StatusBadge status={status} />;
  return (
    <Badge kind="warn" sign="◗">
      pruned
    </Badge>
  );
}

function TrialValue({ job, trial }: { job: TuningJobDetail; trial: TuningTrial }): ReactElement {
  const text = formatMetric(job.metric_name, trial.metric_value);
  return trial === bestTrial(job) ? <strong>{text} best</strong> : <>{text}</>;
}

/** Sorts the trials. Missing values come last. */
export function sortedTrials(trials: readonly TuningTrial[], sort: Sort | null): TuningTrial[] {
  if (sort === null) return [...trials];
  const sign = sort.direction === "ascending" ? 1 : -1;
  return [...trials].sort((a, b) => compared(sortValue(a, sort.key), sortValue(b, sort.key), sign));
}

type SortValue = number | string | null;

function compared(a: SortValue, b: SortValue, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b));
}

function sortValue(trial: TuningTrial, key: string): SortValue {
  if (key === "number") return numberOf(trial);
  if (key === "status") return trial.status;
  if (key === "value") return trial.metric_value ?? null;
  if (key === "took") return secondsOf(trial);
  const value = trial.params[key];
  return typeof value === "number" ? value : formatParam(value);
}

function secondsOf({ created_at, completed_at }: TuningTrial): number | null {
  return completed_at == null ? null : (Date.parse(completed_at) - Date.parse(created_at)) / 1_000;
}
