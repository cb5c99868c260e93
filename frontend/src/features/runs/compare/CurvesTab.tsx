import { useQueries } from "@tanstack/react-query";
import { type ReactElement, useMemo } from "react";
import { type MetricColumns, metricsQuery } from "./metrics";
import { Curve } from "../../../ui/charts/Curve";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Select } from "../../../ui/forms/Select";
import { shortRunName } from "../../../ui/display/names";
import styles from "./compare.module.css";
import type { ComparedRun } from "./comparedRun";
import { type Axis, AXIS_LABELS, type Metric, METRIC_LABELS, overlaid } from "./curves";
import { AXES, type ChangeCompare, type CompareSearch, METRICS } from "./search";

interface CurvesTabProps {
  runs: readonly ComparedRun[];
  search: CompareSearch;
  change: ChangeCompare;
}

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
