import type { ReactElement } from "react";
import type { RunDetail } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import {
  formatBytes,
  formatDuration,
  formatNumber,
  formatShare,
  formatValue,
  UNKNOWN,
} from "../../../ui/display/format";
import { isOnCpu, lastOf, numStepsOf, phaseOf, planOf, secondsLeft, secondsTaken, stepOf } from "./figures";
import type { LiveRun } from "./live";
import styles from "./run.module.css";

/** The status of the run: phase, step, time, speed and memory, predicted and measured. */
export function RunStatusCard({ run, live }: { run: RunDetail; live: LiveRun }): ReactElement {
  const [step, total] = [stepOf(run, live), numStepsOf(run)];
  return (
    <Card title="Status">
      <p role="status" className={styles.phase}>
        <strong>{phaseOf(run, live)}</strong>
        {total === null ? null : `, step ${formatNumber(step ?? 0)} of ${formatNumber(total)}`}
      </p>
      {total === null ? null : (
        <progress aria-label="Steps done" max={total} value={step ?? 0} className={styles.progress} />
      )}
      <div className={styles.status}>
        <Facts facts={{ ...timeFacts(run, live), ...lossFacts(run, live), ...speedFacts(run, live) }} />
      </div>
    </Card>
  );
}

function timeFacts(run: RunDetail, live: LiveRun): Record<string, string> {
  const isRunning = run.status === "running";
  return {
    ...(isRunning && { "Time left": formatDuration(secondsLeft(run, live)) }),
    [isRunning ? "Elapsed" : "Duration"]: formatDuration(secondsTaken(run)),
    "Planned duration": formatDuration(planOf(run)?.total_seconds),
  };
}

function lossFacts(run: RunDetail, live: LiveRun): Record<string, string> {
  const { figures } = run;
  const validation = live.validations.at(-1)?.validation_loss ?? figures?.validation_loss;
  return {
    Loss: formatValue(live.steps.at(-1)?.loss ?? figures?.final_loss),
    ...(validation != null && { "Validation loss": formatValue(validation) }),
  };
}

function speedFacts(run: RunDetail, live: LiveRun): Record<string, string> {
  const { figures } = run;
  const rate = figures?.tokens_per_s ?? lastOf(live.steps, "tokens_per_s");
  return {
    Speed: rate === null ? UNKNOWN : `${formatNumber(rate)} tokens/s`,
    MFU: formatShare(figures?.mfu ?? lastOf(live.steps, "mfu")),
    "Peak memory": memoryMeasured(run, live),
    "Predicted memory": memoryPredicted(run),
  };
}

function memoryMeasured(run: RunDetail, live: LiveRun): string {
  const peak = run.figures?.peak_memory_bytes ?? lastOf(live.steps, "peak_memory_bytes");
  return peak !== null && isOnCpu(run, live)
    ? `${formatBytes(peak)} (whole process, including Python)`
    : formatBytes(peak);
}

/** The memory predicted by the plan and by compiling the actual step. */
function memoryPredicted(run: RunDetail): string {
  const [planned, compiled] = [planOf(run)?.per_device_bytes, run.figures?.planned_memory_bytes];
  if (compiled == null) return formatBytes(planned);
  return `${formatBytes(planned)} by the plan, ${formatBytes(compiled)} compiled`;
}
