import type { ReactElement } from "react";
import { formatNumber } from "../display/format";
import styles from "./charts.module.css";

interface BarsProps {
  title: string;
  bars: readonly { label: string; value: number }[];
  format?: (value: number) => string;
}

/** A horizontal bar chart with labels and values. */
export function Bars({ title, bars, format = formatNumber }: BarsProps): ReactElement {
  const longest = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  return (
    <figure className={styles.figure} aria-label={title}>
      <figcaption className={styles.caption}>
        <h3>{title}</h3>
      </figcaption>
      <dl className={styles.bars}>
        {bars.map(({ label, value }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd className={styles.track}>
              <span className={styles.fill} style={{ width: `${(value / longest) * 100}%` }} />
            </dd>
            <dd>{format(value)}</dd>
          </div>
        ))}
      </dl>
    </figure>
  );
}
