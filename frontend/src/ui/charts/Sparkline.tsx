import type { ReactElement } from "react";
import { formatValue } from "../display/format";
import styles from "./charts.module.css";

interface SparklineProps {
  /** What the values are, such as "Loss of smoke-1". */
  label: string;
  values: readonly number[];
  width?: number;
  height?: number;
}

/** A small line chart as high as a line of text. */
export function Sparkline({ label, values, width = 96, height = 24 }: SparklineProps): ReactElement | null {
  const finite = values.filter(Number.isFinite);
  const [first, last] = [finite[0], finite.at(-1)];
  if (first === undefined || last === undefined) return null;
  return (
    <svg
      role="img"
      aria-label={`${label}: from ${formatValue(first)} to ${formatValue(last)}`}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      className={styles.spark}
    >
      <path d={pathOf(finite, width, height)} fill="none" stroke="var(--series-1)" strokeWidth="1.5" />
    </svg>
  );
}

function pathOf(values: readonly number[], width: number, height: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = width / Math.max(values.length - 1, 1);
  const y = (value: number): number =>
    high === low ? height / 2 : height - 2 - ((value - low) / (high - low)) * (height - 4);
  return values
    .map((value, index) => `${index === 0 ? "M" : "L"}${(index * step).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
}
