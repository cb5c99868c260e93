import type { ReactElement } from "react";
import type { RunDetail } from "../../../api/schema.gen";
import { StackedBar } from "../../../ui/charts/StackedBar";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatBytes, formatDuration, formatNumber } from "../../../ui/display/format";
import { isOnCpu, lastOf, planOf, secondsTaken, stepSeconds } from "./figures";
import type { LiveRun } from "./live";
import styles from "./run.module.css";

/** The plan of the run, compared with measurements. */
export function RunPlan({ run, live }: { run: RunDetail; live: LiveRun }): ReactElement {
  const plan = planOf(run);
  if (plan === null) return <p>This run has no plan, because no target was given.</p>;
  const parts = Object.entries(plan.components)
    .filter(([, value]) => value > 0)
    .map(([name, value]) => ({ name: name.replaceAll("_", " "), value }));
  const measured = run.figures?.peak_memory_bytes ?? lastOf(live.steps, "peak_memory_bytes");
  return (
    <Card title={`Planned for ${plan.target}`}>
      <p>{plan.reason}</p>
      <StackedBar
        label="Predicted memory per device"
        parts={parts}
        format={formatBytes}
        limit={{ name: "Limit", value: plan.limit_bytes }}
      />
      <Facts
        facts={{
          "Predicted memory": `${formatBytes(plan.per_device_bytes)} (${plan.source})`,
          "Measured memory": `${formatBytes(measured)}${isOnCpu(run, live) ? " (whole process, including Python)" : ""}`,
          "Predicted step time": formatDuration(plan.step_seconds),
          "Measured step time": formatDuration(stepSeconds(live.steps)),
          "Predicted training time": formatDuration(plan.total_seconds),
          "Measured run time": formatDuration(secondsTaken(run)),
          Devices: `${formatNumber(plan.num_devices)} of ${formatNumber(plan.num_target_devices)}`,
          "Tokens per step": formatNumber(plan.tokens_per_step),
        }}
      />
      <ul className={styles.basis}>
        {[...(plan.assumptions ?? []), ...(plan.notes ?? [])].map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Card>
  );
}
