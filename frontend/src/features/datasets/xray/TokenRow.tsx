import type { ReactElement } from "react";
import type { XrayRow, XrayToken } from "../../../api/schema.gen";
import { classes } from "../../../ui/classes";
import { Card } from "../../../ui/display/Card";
import { formatCount, formatNumber } from "../../../ui/display/format";
import { PART_NAMES, type RowPart, visibleText, type TokenRun, tokenRuns } from "./parts";
import styles from "./xray.module.css";

/** One training row: its examples with their boundaries, then padding. */
export function TokenRow({ row, shown }: { row: XrayRow; shown: number }): ReactElement {
  return (
    <Card title={`Row with example ${formatNumber(shown)}: ${formatCount(row.tokens.length, "token")}`}>
      <Legend />
      {partsOf(row).map(({ start, end, example }) => (
        <section
          key={start}
          className={classes(styles.segment, example === shown && styles.current)}
          aria-label={example === null ? "Padding" : `Example ${example}`}
        >
          <h3>
            {example === null ? "Padding" : `Example ${formatNumber(example)}`}{" "}
            <small>
              tokens {formatNumber(start)} to {formatNumber(end - 1)}
            </small>
          </h3>
          <div className={styles.tokens}>
            {example === null
              ? `${formatCount(end - start, "token")} of padding`
              : tokenRuns(row.tokens, start, end).map((run) => <Run key={run.start} run={run} />)}
          </div>
        </section>
      ))}
    </Card>
  );
}

function Run({ run }: { run: TokenRun }): ReactElement {
  return (
    <span className={classes(styles[run.state], styles[run.part])} title={`${PART_NAMES[run.part]}, ${run.state}`}>
      <span className={styles.visuallyHidden}>{`${PART_NAMES[run.part]}, ${run.state}: `}</span>
      {run.tokens.map((token, offset) => (
        <span key={offset} className={styles.token} title={titleOf(token, run.start + offset)}>
          {visibleText(token.text)}
        </span>
      ))}
    </span>
  );
}

function titleOf(token: XrayToken, position: number): string {
  return `token ${position}, id ${token.id}: ${PART_NAMES[token.part]}, ${token.state}`;
}

function Legend(): ReactElement {
  return (
    <p className={styles.legend}>
      <span className={styles.trained}>
        <span className={styles.token}>trained: underlined</span>
      </span>
      <span className={classes(styles.trained, styles.answer)}>
        <span className={styles.token}>answer: bold</span>
      </span>
      <span className={styles.masked}>
        <span className={styles.token}>masked: no loss</span>
      </span>
    </p>
  );
}

function partsOf(row: XrayRow): RowPart[] {
  const examples = row.segments.map(({ example, start, end }) => ({ example, start, end }));
  const end = examples.at(-1)?.end ?? 0;
  const hasPadding = end < row.tokens.length;
  return hasPadding ? [...examples, { example: null, start: end, end: row.tokens.length }] : examples;
}
