import type { ReactElement } from "react";
import { formatNumber, formatShare } from "../display/format";
import styles from "./charts.module.css";

interface IntervalProps {
  /** The value; `low` and `high` are its 95 % confidence interval. */
  value: number;
  low: number;
  high: number;
  /** The sample size. */
  n: number;
  format?: (value: number) => string;
  /** The ends of the drawn scale. */
  scale?: readonly [number, number];
}

const [WIDTH, HEIGHT] = [80, 14];

/** A value with its 95 % confidence interval and n, drawn and written: `97.4 %, 95 % CI 96.4 % to 98.1 %, n = 200`. */
export function Interval({ value, low, high, n, format = formatShare, scale = [0, 1] }: IntervalProps): ReactElement {
  const x = (at: number): number => 4 + ((at - scale[0]) / (scale[1] - scale[0])) * (WIDTH - 8);
  return (
    <span className={styles.interval}>
      <span>
        <svg aria-hidden="true" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`}>
          <line x1="4" x2={WIDTH - 4} y1={HEIGHT / 2} y2={HEIGHT / 2} stroke="var(--line)" strokeWidth="2" />
          <line
            x1={x(low)}
            x2={x(high)}
            y1={HEIGHT / 2}
            y2={HEIGHT / 2}
            stroke="var(--series-1)"
            strokeWidth="4"
            opacity="0.5"
          />
          <circle cx={x(value)} cy={HEIGHT / 2} r="3.5" fill="var(--series-1)" />
        </svg>
        <strong>{format(value)}</strong>
      </span>
      <small>
        95 % CI {format(low)} to {format(high)}, n = {formatNumber(n)}
      </small>
    </span>
  );
}
