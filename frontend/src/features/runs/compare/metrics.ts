import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../../api/client";
import { isActive } from "../queries";
import type { MetricsLine, Run, ValidationLine } from "../../../api/schema.gen";

const POLL_MS = 5_000;

/** The metrics of a run as columns, which keeps a hundred long runs small in memory. */
export interface MetricColumns {
  step: number[];
  /** Minutes since the first entry. */
  minutes: number[];
  loss: (number | null)[];
  lr: (number | null)[];
  grad_norm: (number | null)[];
  tokens_per_s: (number | null)[];
  validation_loss: (number | null)[];
}

/** The metrics of a run, polled while it is active. */
export const metricsQuery = (run: Pick<Run, "run_id" | "status">) =>
  queryOptions({
    queryKey: ["runs", run.run_id, "metrics", run.status],
    queryFn: async ({ signal }): Promise<MetricColumns> => {
      const params = { path: { run_id: run.run_id } };
      return columnsOf(await unwrap(api.GET("/api/tunix/runs/{run_id}/metrics", { params, signal })));
    },
    refetchInterval: isActive(run.status) ? POLL_MS : false,
    // Comparing long lists of numbers costs more than redrawing them.
    structuralSharing: false,
  });

type Line = MetricsLine | ValidationLine;

/** Converts metric lines to columns. Validation lines have no loss, step lines no validation loss. */
export function columnsOf(lines: readonly Line[]): MetricColumns {
  const start = Date.parse(lines[0]?.time ?? "");
  const steps = lines.map((line) => ("loss" in line ? line : null));
  return {
    step: lines.map(({ step }) => step),
    minutes: lines.map(({ time }) => (Date.parse(time) - start) / 60_000),
    loss: steps.map((line) => line?.loss ?? null),
    lr: steps.map((line) => line?.lr ?? null),
    grad_norm: steps.map((line) => line?.grad_norm ?? null),
    tokens_per_s: steps.map((line) => line?.tokens_per_s ?? null),
    validation_loss: lines.map((line) => ("validation_loss" in line ? line.validation_loss : null)),
  };
}
