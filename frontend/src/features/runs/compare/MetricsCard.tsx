import type { ReactElement, ReactNode } from "react";
import type { RunDetail } from "../../../api/schema.gen";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { Card } from "../../../ui/display/Card";
import {
  formatBytes,
  formatDuration,
  formatNumber,
  formatShare,
  formatValue,
  UNKNOWN,
} from "../../../ui/display/format";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import type { ComparedRun } from "./comparedRun";
import { RunLegend } from "./RunLegend";

/** The training metrics of the runs. */
export function MetricsCard({ runs }: { runs: readonly ComparedRun[] }): ReactElement {
  return (
    <Card title="Training metrics">
      <PlainTable
        name="Metrics"
        columns={[
          { header: "Run" },
          { header: "Status" },
          { header: "Steps", align: "end" },
          { header: "Loss", align: "end" },
          { header: "Best validation loss", align: "end" },
          { header: "Tokens/s", align: "end" },
          { header: "MFU", align: "end" },
          { header: "Peak memory", align: "end" },
          { header: "Duration", align: "end" },
        ]}
        rows={runs.map(({ run, index }) => ({
          key: run.run_id,
          cells: [<RunLegend key="run" runId={run.run_id} index={index} />, ...metricCells(run)],
        }))}
      />
    </Card>
  );
}

function metricCells(run: RunDetail): ReactNode[] {
  const { figures } = run;
  return [
    <StatusBadge key="status" status={run.status} isHeld={run.is_held} />,
    figures ? `${formatNumber(figures.num_steps)} / ${formatNumber(figures.num_planned_steps)}` : UNKNOWN,
    formatValue(figures?.final_loss),
    formatValue(figures?.best_validation_loss ?? figures?.validation_loss),
    formatNumber(figures?.tokens_per_s),
    formatShare(figures?.mfu),
    formatBytes(figures?.peak_memory_bytes),
    formatDuration(secondsOf(run)),
  ];
}

function secondsOf({ started_at, finished_at }: RunDetail): number | null {
  return started_at && finished_at ? (Date.parse(finished_at) - Date.parse(started_at)) / 1_000 : null;
}
