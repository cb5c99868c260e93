import { useQueries } from "@tanstack/react-query";
import { type ReactElement, useMemo } from "react";
import { Curve } from "../../../ui/charts/Curve";
import type { Series } from "../../../ui/charts/series";
import { shortRunName } from "../../../ui/display/format";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Select } from "../../../ui/forms/Select";
import styles from "./compare.module.css";
import { type MetricColumns, metricsQuery } from "./metrics";
import type { ComparedRun } from "./RunLegend";
import { AXES, type ChangeCompare, type CompareSearch, METRICS } from "./search";

interface CurvesTabProps {
  runs: readonly ComparedRun[];
  search: CompareSearch;
  change: ChangeCompare;
}

const METRIC_LABELS: Record<Metric, { title: string; unit: string }> = {
  loss: { title: "Loss", unit: "loss (nats per token)" },
  validation_loss: { title: "Validation loss", unit: "validation loss (nats per token)" },
  lr: { title: "Learning rate", unit: "learning rate" },
  grad_norm: { title: "Gradient norm", unit: "norm before clipping" },
  tokens_per_s: { title: "Speed", unit: "tokens/s" },
};

const AXIS_LABELS: Record<Axis, string> = { step: "step", minutes: "minutes since the first step" };

const METRIC_CHOICES = METRICS.map((metric) => ({ value: metric, label: METRIC_LABELS[metric].title }));
const AXIS_CHOICES = AXES.map((axis) => ({ value: axis, label: AXIS_LABELS[axis] }));

/** The overlaid curves of the runs. */
export function CurvesTab({ runs, search, change }: CurvesTabProps): ReactElement {
  const { metric = "loss", axis = "step" } = search;
  return (
    <>
      <div className={styles.row}>
        <Select
          label="Metric"
          value={metric}
          choices={METRIC_CHOICES}
          onChange={(chosen) => {
            change({ metric: chosen === "loss" ? undefined : chosen });
          }}
        />
        <Select
          label="X axis"
          value={axis}
          choices={AXIS_CHOICES}
          onChange={(chosen) => {
            change({ axis: chosen === "step" ? undefined : chosen });
          }}
        />
      </div>
      <Overlay runs={runs} metric={metric} axis={axis} />
    </>
  );
}

function Overlay({ runs, metric, axis }: { runs: readonly ComparedRun[]; metric: Metric; axis: Axis }): ReactElement {
  const { logged, numPending, error } = useMetrics(runs);
  const numColours = Math.max(...runs.map(({ index }) => index), -1) + 1;
  const series = useMemo(() => {
    const places = Array.from({ length: numColours }, (_, place) => runs.findIndex(({ index }) => index === place));
    const names = places.map((at, place) => nameOf(runs[at]) ?? `run ${place + 1}`);
    return overlaid(
      names,
      places.map((at) => logged[at]),
      metric,
      axis,
    );
  }, [runs, logged, numColours, metric, axis]);
  const { title, unit } = METRIC_LABELS[metric];
  return (
    <>
      {error === null ? null : <ErrorNotice error={error} title="Could not load the metrics of a run" />}
      <p role="status" className={styles.muted}>
        {numPending > 0 ? `Loading metrics: ${runs.length - numPending} of ${runs.length} runs…` : null}
      </p>
      <Curve title={title} series={series} xLabel={AXIS_LABELS[axis]} yLabel={unit} height={420} />
    </>
  );
}

function nameOf(compared: ComparedRun | undefined): string | undefined {
  return compared && shortRunName(compared.run.run_id);
}

interface Metrics {
  logged: readonly (MetricColumns | undefined)[];
  numPending: number;
  error: Error | null;
}

function useMetrics(runs: readonly ComparedRun[]): Metrics {
  return useQueries({
    queries: runs.map(({ run }) => metricsQuery(run)),
    combine: combined,
  });
}

interface Answer {
  data?: MetricColumns | undefined;
  isPending: boolean;
  error: Error | null;
}

// A stable function, so that its result only changes with the query results.
function combined(answers: readonly Answer[]): Metrics {
  return {
    logged: answers.map(({ data }) => data),
    numPending: answers.filter(({ isPending }) => isPending).length,
    error: answers.find(({ error }) => error !== null)?.error ?? null,
  };
}

type Metric = (typeof METRICS)[number];
type Axis = (typeof AXES)[number];

/** Runs log at different times, so times are rounded to this many shared positions. */
const NUM_TIME_BINS = 2_000;

/** One curve per run, in order. A run without metrics has an empty curve, so that colours are stable. */
function overlaid(
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
