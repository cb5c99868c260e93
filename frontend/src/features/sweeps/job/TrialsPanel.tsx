import type { ReactElement } from "react";
import type { TuningJobDetail, TuningTrial } from "../../../api/schema.gen";
import { Curve } from "../../../ui/charts/Curve";
import type { Series } from "../../../ui/charts/series";
import type { Sort } from "../../../ui/tables/columns";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import type { Change, JobSearch } from "../search";
import { metricName } from "../format";
import { drawnTrials, numberOf } from "./axes";
import { ParallelCoordinates } from "./ParallelCoordinates";
import { sortedTrials, trialColumns } from "./trialColumns";

interface TrialsPanelProps {
  job: TuningJobDetail;
  search: JobSearch;
  change: Change<JobSearch>;
}

/** The trials as a plot, a table and a history. */
export function TrialsPanel({ job, search, change }: TrialsPanelProps): ReactElement {
  if (job.trials.length === 0) return <p>No trial has started yet. The next available worker starts one.</p>;
  const sort: Sort | null =
    search.sort === undefined ? null : { key: search.sort, direction: search.descending ? "descending" : "ascending" };
  const rows = sortedTrials(job.trials, sort);
  const choose = (trial: number | undefined): void => {
    change({ trial });
  };
  return (
    <>
      {drawnTrials(job.trials).length === 0 ? null : (
        <ParallelCoordinates job={job} chosen={search.trial} onChoose={choose} />
      )}
      <VirtualTable
        name="Trials"
        columns={trialColumns(job)}
        numRows={rows.length}
        rowAt={(index) => rows[index]}
        rowKey={(trial) => `trial ${numberOf(trial)}`}
        sort={sort}
        onSort={(next) => {
          change({ sort: next?.key, descending: next?.direction === "descending" || undefined });
        }}
        selection={{
          has: (trial) => numberOf(trial) === search.trial,
          toggle: (trial) => {
            choose(numberOf(trial) === search.trial ? undefined : numberOf(trial));
          },
        }}
        height="min(50dvh, 30rem)"
      />
      <Curve title="Objective by trial" series={history(job)} xLabel="trial" yLabel={metricName(job.metric_name)} />
    </>
  );
}

/** The result of every trial and the best so far, without pruned trials. */
function history({ trials, metric_mode }: TuningJobDetail): Series[] {
  const ended = trials.filter(({ status }) => status === "succeeded");
  const xs = ended.map(numberOf);
  const better = metric_mode === "min" ? Math.min : Math.max;
  const best = ended.reduce<number[]>((found, trial) => [...found, better(...found.slice(-1), valueOf(trial))], []);
  return [
    { name: "best so far", xs, ys: best },
    { name: "this trial", xs, ys: ended.map(valueOf) },
  ];
}

function valueOf({ metric_value }: TuningTrial): number {
  return metric_value ?? Number.NaN;
}
