import type { ReactElement } from "react";
import type { RunDetail } from "../../../api/schema.gen";
import { StackedBar } from "../../../ui/charts/StackedBar";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatBytes, formatDuration, formatNumber } from "../../../ui/display/format";
import { isOnCpu, lastOf, planOf, secondsTaken, stepSeconds } from "./figures";
import type { LiveRun } from "./live";
import styles from "./run.module.css";

/** What was predicted, beside what was measured. */
export function RunPlan({ run, live }: { run: RunDetail; live: LiveRun }): ReactElement {
  const plan = planOf(run);
  if (plan === null) return <p>It was not planned: nobody said for which hardware.</p>;
  const parts = Object.entries(plan.components)
    .filter(([, value]) => value > 0)
    .map(([name, value]) => ({ name: name.replaceAll("_", " "), value }));
  const measured = run.figures?.peak_memory_bytes ?? lastOf(live.steps, "peak_memory_bytes");
  return (
    <Card title={`Planned for ${plan.target}`}>
      <p>{plan.reason}</p>
      <StackedBar
        label="Predicted memory of one device"
        parts={parts}
        format={formatBytes}
        limit={{ name: "Limit", value: plan.limit_bytes }}
      />
      <Facts
        facts={{
          "Memory predicted": `${formatBytes(plan.per_device_bytes)} (${plan.source})`,
          "Memory measured": `${formatBytes(measured)}${isOnCpu(run, live) ? ": the whole process, Python too" : ""}`,
          "Step predicted": formatDuration(plan.step_seconds),
          "Step measured": formatDuration(stepSeconds(live.steps)),
          "Training predicted": formatDuration(plan.total_seconds),
          "Run measured": formatDuration(secondsTaken(run)),
          Devices: `${formatNumber(plan.num_devices)} of ${formatNumber(plan.num_target_devices)}`,
          "Tokens a step": formatNumber(plan.tokens_per_step),
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
