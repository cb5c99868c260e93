import type { SweepSpec, TuningJobDetail, TuningTrial } from "../../../api/schema.gen";
import { formatMetric, formatParam, metricName } from "../format";

type Parameter = SweepSpec["search_space"][string];

/** One axis of the plot. Positions run from 0 (bottom) to 1. */
export interface Axis {
  key: string;
  label: string;
  placeOf: (trial: TuningTrial) => number | null;
  ticks: { at: number; label: string }[];
}

/** One axis per tuned setting, then one for the objective. */
export function axesOf(job: TuningJobDetail): Axis[] {
  const searched = Object.entries(job.spec.search_space).map(([key, parameter]) => paramAxis(key, parameter));
  return [...searched, metricAxis(job)];
}

function paramAxis(key: string, parameter: Parameter): Axis {
  const label = key.split(".").at(-1) ?? key;
  if (parameter.type === "choice") {
    const texts = parameter.values.map((value) => JSON.stringify(value));
    const at = (index: number): number => (texts.length === 1 ? 0.5 : index / (texts.length - 1));
    return {
      key,
      label,
      placeOf: ({ params }) => {
        const index = texts.indexOf(JSON.stringify(params[key]));
        return index < 0 ? null : at(index);
      },
      ticks: parameter.values.map((value, index) => ({ at: at(index), label: formatParam(value) })),
    };
  }
  const isLog = parameter.type === "loguniform" || parameter.type === "lograndint";
  const scale = scaleOf(parameter.min, parameter.max, isLog);
  return {
    key,
    label: isLog ? `${label} (log)` : label,
    placeOf: ({ params }) => (typeof params[key] === "number" ? scale.place(params[key]) : null),
    ticks: scale.ticks.map(({ at, value }) => ({ at, label: formatParam(value) })),
  };
}

function metricAxis({ trials, metric_name }: TuningJobDetail): Axis {
  const values = trials.flatMap(({ metric_value }) => (metric_value == null ? [] : [metric_value]));
  const scale = scaleOf(Math.min(...values), Math.max(...values), false);
  return {
    key: "value",
    label: metricName(metric_name),
    placeOf: ({ metric_value }) => (metric_value == null ? null : scale.place(metric_value)),
    ticks:
      values.length === 0 ? [] : scale.ticks.map(({ at, value }) => ({ at, label: formatMetric(metric_name, value) })),
  };
}

const TICKS = [0, 0.5, 1];

function scaleOf(min: number, max: number, isLog: boolean) {
  const [to, back] = isLog ? [Math.log, Math.exp] : [same, same];
  const [low, high] = [to(min), to(max)];
  const width = high - low;
  return {
    place: (value: number): number => (width > 0 ? (to(value) - low) / width : 0.5),
    ticks: width > 0 ? TICKS.map((at) => ({ at, value: back(low + at * width) })) : [{ at: 0.5, value: min }],
  };
}

function same(value: number): number {
  return value;
}

/** The trials with a value, which can be drawn. */
export function drawnTrials(trials: readonly TuningTrial[]): TuningTrial[] {
  return trials.filter(({ metric_value }) => metric_value != null);
}

/** The number of a trial, taken from the end of its id. */
export function numberOf({ id }: TuningTrial): number {
  return Number(id.slice(id.lastIndexOf(":") + 1));
}

/** The best trial so far, also while the sweep is running. Ties go to the first. */
export function bestTrial({ trials, metric_mode }: TuningJobDetail): TuningTrial | undefined {
  const sign = metric_mode === "min" ? 1 : -1;
  const ended = trials.filter(({ status }) => status === "succeeded");
  return ended.toSorted((a, b) => sign * ((a.metric_value ?? 0) - (b.metric_value ?? 0)))[0];
}
