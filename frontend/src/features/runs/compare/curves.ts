import type { MetricColumns } from "./metrics";
import type { Series } from "../../../ui/charts/series";
import type { AXES, METRICS } from "./search";

export type Metric = (typeof METRICS)[number];
export type Axis = (typeof AXES)[number];

/** Runs log at different times, so times are rounded to this many shared positions. */
const NUM_TIME_BINS = 2_000;

export const METRIC_LABELS: Record<Metric, { title: string; unit: string }> = {
  loss: { title: "Loss", unit: "loss (nats per token)" },
  validation_loss: { title: "Validation loss", unit: "validation loss (nats per token)" },
  lr: { title: "Learning rate", unit: "learning rate" },
  grad_norm: { title: "Gradient norm", unit: "norm before clipping" },
  tokens_per_s: { title: "Speed", unit: "tokens/s" },
};

export const AXIS_LABELS: Record<Axis, string> = { step: "step", minutes: "minutes since the first step" };

/** One curve per run, in order. A run without metrics has an empty curve, so that colours are stable. */
export function overlaid(
  names: readonly string[],
  logged: readonly (MetricColumns | undefined)[],
  metric: Metric,
  axis: Axis,
): Series[] {
  const curves = names.map((name, index) => curveOf(name, logged[index], metric, axis));
  return axis === "minutes" ? onSharedBins(curves) : curves;
}

function curveOf(name: string, columns: MetricColumns | undefined, metric: Metric, axis: Axis): Series {
  if (columns === undefined) return { name, xs: [], ys: [] };
  const [xs, ys] = [columns[axis], columns[metric]];
  const known = ys.flatMap((y, index) => (y === null ? [] : [index]));
  return { name, xs: known.map((index) => xs[index] ?? 0), ys: known.map((index) => ys[index] ?? null) };
}

/** The curves on shared time bins. The last value in a bin wins. */
function onSharedBins(curves: readonly Series[]): Series[] {
  const end = Math.max(...curves.map(({ xs }) => xs.at(-1) ?? 0), 0);
  const width = end / NUM_TIME_BINS || 1;
  return curves.map(({ name, xs, ys }) => {
    const binned = new Map(xs.map((x, index) => [Math.round(x / width) * width, ys[index] ?? null]));
    return { name, xs: [...binned.keys()], ys: [...binned.values()] };
  });
}
