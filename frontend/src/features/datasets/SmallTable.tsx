import type { ReactElement, ReactNode } from "react";
import styles from "./datasets.module.css";

export interface SmallColumn<Row> {
  header: string;
  cell: (row: Row) => ReactNode;
  isNumber?: boolean;
}

interface SmallTableProps<Row> {
  name: string;
  columns: readonly SmallColumn<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row, index: number) => string;
}

/** A few rows; it scrolls sideways in its own box. */
export function SmallTable<Row>({ name, columns, rows, rowKey }: SmallTableProps<Row>): ReactElement {
  return (
    // The keyboard must be able to scroll what a mouse can.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={styles.scroll} role="region" aria-label={name} tabIndex={0}>
      <table aria-label={name}>
        <thead>
          <tr>
            {columns.map(({ header, isNumber }) => (
              <th key={header} scope="col" className={isNumber ? styles.number : undefined}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={rowKey(row, index)}>
              {columns.map(({ header, cell, isNumber }) => (
                <td key={header} className={isNumber ? styles.number : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
