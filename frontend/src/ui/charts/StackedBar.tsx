import { type ReactElement, useId } from "react";
import styles from "./charts.module.css";
import { seriesColour } from "./series";

export interface Part {
  name: string;
  value: number;
}

interface StackedBarProps {
  /** What the total is, such as "Memory per device". */
  label: string;
  parts: readonly Part[];
  format: (value: number) => string;
  /** A limit for the total, with its name. */
  limit?: { name: string; value: number };
}

const [WIDTH, HEIGHT] = [1000, 32];

/** The parts of a total against a limit. Each part has a legend entry, and a pattern in addition to its colour. */
export function StackedBar({ label, parts, format, limit }: StackedBarProps): ReactElement {
  const id = useId();
  const total = parts.reduce((sum, { value }) => sum + value, 0);
  const end = Math.max(total, limit?.value ?? 0, Number.MIN_VALUE) * 1.02;
  const x = (value: number): number => (value / end) * WIDTH;
  const starts = parts.map((_, index) => parts.slice(0, index).reduce((sum, { value }) => sum + value, 0));
  const verdict = limit ? `, ${total > limit.value ? "over" : "within"} ${limit.name} ${format(limit.value)}` : "";
  return (
    <figure aria-label={label}>
      <svg
        role="img"
        aria-label={`${label}: ${format(total)}${verdict}`}
        className={styles.stack}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        <defs>{parts.map((part, index) => patternOf(`${id}-${index}`, part.name, index))}</defs>
        <rect width={x(Math.max(total, limit?.value ?? 0))} height={HEIGHT} fill="var(--surface-hover)" />
        {parts.map(({ name, value }, index) => (
          <rect key={name} x={x(starts[index] ?? 0)} width={x(value)} height={HEIGHT} fill={`url(#${id}-${index})`} />
        ))}
        {limit ? (
          <line
            x1={x(limit.value)}
            x2={x(limit.value)}
            y1="0"
            y2={HEIGHT}
            stroke="var(--bad)"
            strokeWidth="5"
            strokeDasharray="5 3"
          />
        ) : null}
      </svg>
      <Legend parts={parts} format={format} total={total} {...(limit && { limit })} />
    </figure>
  );
}

function Legend({ parts, format, total, limit }: Omit<StackedBarProps, "label"> & { total: number }): ReactElement {
  return (
    <ul className={styles.legend}>
      {parts.map(({ name, value }, index) => (
        <li key={name}>
          <span className={styles.swatch} style={{ background: seriesColour(index) }} />
          {name} {format(value)}
        </li>
      ))}
      <li>
        <strong>Total {format(total)}</strong>
      </li>
      {limit ? (
        <li>
          {limit.name} {format(limit.value)}
        </li>
      ) : null}
    </ul>
  );
}

function patternOf(id: string, name: string, index: number): ReactElement {
  return (
    <pattern
      key={name}
      id={id}
      width="8"
      height="8"
      patternUnits="userSpaceOnUse"
      patternTransform={`rotate(${index * 45})`}
    >
      <rect width="8" height="8" fill={seriesColour(index)} />
      {index === 0 ? null : <rect width="1.5" height="8" fill="var(--surface-raised)" opacity="0.5" />}
    </pattern>
  );
}
