import type { MetricColumns } from "./metrics";
import type { Series } from "../../../ui/charts/series";
import type { AXES, METRICS } from "./search";

export type Metric = (typeof METRICS)[number];
export type Axis = (typeof AXES)[number];

/** No two runs log at the same moment: times are rounded to so many places, which all of them share. */
const NUM_PLACES = 2_000;

export const METRIC_LABELS: Record<Metric, { title: string; unit: string }> = {
  loss: { title: "Loss", unit: "loss (nats a token)" },
  validation_loss: { title: "Validation loss", unit: "validation loss (nats a token)" },
  lr: { title: "Learning rate", unit: "learning rate" },
  grad_norm: { title: "Gradient norm", unit: "norm before clipping" },
  tokens_per_s: { title: "Speed", unit: "tokens/s" },
};

export const AXIS_LABELS: Record<Axis, string> = { step: "step", minutes: "minutes since the first step" };

/** One curve a run, in their order; a run that has logged nothing has an empty one, so that colours stay. */
export function overlaid(
  names: readonly string[],
  logged: readonly (MetricColumns | undefined)[],
  metric: Metric,
  axis: Axis,
): Series[] {
  const curves = names.map((name, index) => curveOf(name, logged[index], metric, axis));
  return axis === "minutes" ? onSharedPlaces(curves) : curves;
}

function curveOf(name: string, columns: MetricColumns | undefined, metric: Metric, axis: Axis): Series {
  if (columns === undefined) return { name, xs: [], ys: [] };
  const [xs, ys] = [columns[axis], columns[metric]];
  const known = ys.flatMap((y, index) => (y === null ? [] : [index]));
  return { name, xs: known.map((index) => xs[index] ?? 0), ys: known.map((index) => ys[index] ?? null) };
}

/** The curves on places that they share; where several values fall on one, the last is taken. */
function onSharedPlaces(curves: readonly Series[]): Series[] {
  const end = Math.max(...curves.map(({ xs }) => xs.at(-1) ?? 0), 0);
  const width = end / NUM_PLACES || 1;
  return curves.map(({ name, xs, ys }) => {
    const placed = new Map(xs.map((x, index) => [Math.round(x / width) * width, ys[index] ?? null]));
    return { name, xs: [...placed.keys()], ys: [...placed.values()] };
  });
}
