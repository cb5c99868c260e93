import { lazy, type ReactElement, Suspense, useId, useState } from "react";
import { formatNumber, formatValue } from "../display/format";
import { Loading } from "../feedback/Loading";
import { Button } from "../forms/Button";
import { Checkbox } from "../forms/Checkbox";
import { VirtualTable } from "../tables/VirtualTable";
import styles from "./charts.module.css";
import { aligned, type Series } from "./series";

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

interface CurveControlsProps {
  smoothing: number;
  onSmoothing: (smoothing: number) => void;
  isLog: boolean;
  onLog: (isLog: boolean) => void;
  isTable: boolean;
  onTable: (isTable: boolean) => void;
  onReset: () => void;
}

function CurveControls(props: CurveControlsProps): ReactElement {
  const id = useId();
  return (
    <div className={styles.controls}>
      <label htmlFor={id}>Smoothing</label>
      <input
        id={id}
        type="range"
        min={0}
        max={0.99}
        step={0.01}
        value={props.smoothing}
        onChange={(event) => {
          props.onSmoothing(Number(event.target.value));
        }}
      />
      <Checkbox label="Log scale" isChecked={props.isLog} onChange={props.onLog} />
      <Checkbox label="Show as table" isChecked={props.isTable} onChange={props.onTable} />
      <Button kind="quiet" onClick={props.onReset}>
        Reset zoom
      </Button>
    </div>
  );
}

interface CurveTableProps {
  title: string;
  series: readonly Series[];
  xLabel: string;
  format?: (value: number) => string;
}

/** The values of the curves. */
function CurveTable({ title, series, xLabel, format = formatValue }: CurveTableProps): ReactElement {
  const [xs = [], ...columns] = aligned(series);
  return (
    <VirtualTable
      name={`${title}, as a table`}
      numRows={xs.length}
      rowAt={(index) => index}
      rowKey={String}
      rowHeight={32}
      height="18rem"
      columns={[
        { key: "x", header: xLabel, cell: (index) => formatNumber(xs[index], 2), align: "end", width: "7rem" },
        ...columns.map((ys, column) => ({
          key: `${column}`,
          header: series[column]?.name ?? "",
          align: "end" as const,
          cell: (index: number) => {
            const value = ys[index];
            return value === null || value === undefined ? "–" : format(value);
          },
        })),
      ]}
    />
  );
}
