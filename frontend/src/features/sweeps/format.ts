import type { TuningJob } from "../../api/schema.gen";
import { formatShare, formatValue } from "../../ui/display/format";

const NAMES: Record<TuningJob["metric_name"], string> = {
  validation_loss: "validation loss",
  loss: "loss",
  score: "score",
};

/** The objective as text: `lowest validation loss`. */
export function metricLabel({ metric_name, metric_mode }: Pick<TuningJob, "metric_name" | "metric_mode">): string {
  return `${metric_mode === "min" ? "lowest" : "highest"} ${NAMES[metric_name]}`;
}

export function metricName(metric: TuningJob["metric_name"]): string {
  return NAMES[metric];
}

/** A metric value with its unit. A score is a percentage. */
export function formatMetric(metric: TuningJob["metric_name"], value: number | null | undefined): string {
  return metric === "score" ? formatShare(value) : formatValue(value);
}

/** A parameter value as text. */
export function formatParam(value: unknown): string {
  if (typeof value === "number") return formatValue(value);
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
