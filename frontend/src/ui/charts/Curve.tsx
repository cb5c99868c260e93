import { lazy, type ReactElement, Suspense, useState } from "react";
import { Loading } from "../feedback/Loading";
import { CurveControls } from "./CurveControls";
import { CurveTable } from "./CurveTable";
import styles from "./charts.module.css";
import type { Series } from "./series";

const CurveCanvas = lazy(() => import("./CurveCanvas").then((module) => ({ default: module.CurveCanvas })));

interface CurveProps {
  title: string;
  series: readonly Series[];
  xLabel: string;
  /** Includes the unit. */
  yLabel: string;
  height?: number;
  /** The initial smoothing. */
  smoothing?: number;
  format?: (value: number) => string;
}

/** A line chart with smoothing, log scale, zoom by dragging and a table view. */
export function Curve(props: CurveProps): ReactElement {
  const { title, series, xLabel, yLabel, height = 280, format } = props;
  const [smoothing, setSmoothing] = useState(props.smoothing ?? 0);
  const [isLog, setLog] = useState(false);
  const [isTable, setTable] = useState(false);
  const [resetKey, setResetKey] = useState(0);
  const isEmpty = series.every(({ xs }) => xs.length === 0);
  return (
    <figure className={styles.figure} aria-label={title}>
      <figcaption className={styles.caption}>
        <h3>{title}</h3>
        <CurveControls
          smoothing={smoothing}
          onSmoothing={setSmoothing}
          isLog={isLog}
          onLog={setLog}
          isTable={isTable}
          onTable={setTable}
          onReset={() => {
            setResetKey(resetKey + 1);
          }}
        />
      </figcaption>
      {isEmpty ? (
        <p className={styles.nothing}>Nothing logged yet.</p>
      ) : isTable ? (
        <CurveTable title={title} series={series} xLabel={xLabel} {...(format && { format })} />
      ) : (
        <Suspense fallback={<Loading what="Loading the chart…" />}>
          <CurveCanvas {...{ series, smoothing, isLog, xLabel, yLabel, height, resetKey }} />
        </Suspense>
      )}
    </figure>
  );
}
