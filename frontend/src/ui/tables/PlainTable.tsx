import type { ReactElement, ReactNode } from "react";
import styles from "./PlainTable.module.css";

interface PlainTableProps {
  /** The accessible name of the table. */
  name: string;
  /** The first column is the row header; `end` aligns numbers right. */
  columns: readonly { header: string; align?: "end" }[];
  rows: readonly { key: string; cells: readonly ReactNode[] }[];
}

/** A small table, fully rendered. It scrolls horizontally when it is too wide. */
export function PlainTable({ name, columns, rows }: PlainTableProps): ReactElement {
  return (
    // A scrollable region must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={styles.box} role="region" aria-label={name} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            {columns.map(({ header, align }) => (
              <th key={header} scope="col" data-align={align}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, index) =>
                index === 0 ? (
                  <th key={index} scope="row">
                    {cell}
                  </th>
                ) : (
                  <td key={index} data-align={columns[index]?.align}>
                    {cell}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Text in a cell that may wrap. */
export function Sentence({ children }: { children: ReactNode }): ReactElement {
  return <span className={styles.sentence}>{children}</span>;
}
