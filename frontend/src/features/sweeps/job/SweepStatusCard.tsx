import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { TuningJobDetail } from "../../../api/schema.gen";
import { buttonClass } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatCount, formatNumber, UNKNOWN } from "../../../ui/display/format";
import styles from "../sweeps.module.css";
import { formatMetric, formatParam, metricLabel } from "../format";
import { bestTrial } from "./axes";

/** The progress of the sweep and its best result. */
export function SweepStatusCard({ job }: { job: TuningJobDetail }): ReactElement {
  const done = job.trials.filter(({ status }) => status !== "queued" && status !== "running").length;
  return (
    <Card title="Status">
      <p role="status">{statusText(job, done)}</p>
      {job.num_samples == null ? null : (
        <progress className={styles.progress} aria-label="Finished trials" value={done} max={job.num_samples} />
      )}
      {job.failure ? (
        <p className={styles.failure}>
          {job.failure.detail} {job.failure.next_step}
        </p>
      ) : null}
      <Facts
        facts={{
          Objective: metricLabel(job),
          Best: formatMetric(job.metric_name, job.best_value),
          "Best values": bestValues(job),
          Model: job.base_model_id,
          Dataset: job.dataset_key,
        }}
      />
      {job.trials.length < 2 ? null : (
        <div>
          <Link to="/compare" search={{ run: comparedRuns(job) }} className={buttonClass()}>
            Compare trial runs
          </Link>
        </div>
      )}
    </Card>
  );
}

function statusText({ trials, num_samples, status }: TuningJobDetail, done: number): string {
  const of = num_samples == null ? "" : ` of ${formatNumber(num_samples)}`;
  const numOpen = trials.length - done;
  const open = numOpen > 0 ? `, ${formatNumber(numOpen)} queued or running` : "";
  if (status === "queued") return "Validated and waiting to be started.";
  return `${formatNumber(done)}${of} ${num_samples === 1 ? "trial has" : "trials have"} finished${open}: ${outcomes(trials)}.`;
}

function outcomes(trials: TuningJobDetail["trials"]): string {
  const kinds = ["succeeded", "pruned", "failed", "cancelled"] as const;
  const counted = kinds.map((kind) => [kind, trials.filter(({ status }) => status === kind).length] as const);
  const parts = counted.filter(([, count]) => count > 0).map(([kind, count]) => `${formatNumber(count)} ${kind}`);
  return parts.length > 0 ? parts.join(", ") : formatCount(0, "result");
}

function bestValues({ best_params }: TuningJobDetail): string {
  if (best_params == null) return UNKNOWN;
  return Object.entries(best_params)
    .map(([key, value]) => `${key.split(".").at(-1) ?? key} ${formatParam(value)}`)
    .join(", ");
}

/** The best run first, as the base of the comparison. */
function comparedRuns(job: TuningJobDetail): string[] {
  const best = bestTrial(job);
  const others = job.trials.filter((trial) => trial !== best);
  return [...(best ? [best] : []), ...others].map(({ run_id }) => run_id);
}
