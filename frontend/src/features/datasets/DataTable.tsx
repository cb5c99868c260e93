import type { ReactElement, ReactNode } from "react";
import styles from "./datasets.module.css";

export interface DataColumn<Row> {
  header: string;
  cell: (row: Row) => ReactNode;
  isNumber?: boolean;
}

interface DataTableProps<Row> {
  name: string;
  columns: readonly DataColumn<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row, index: number) => string;
}

/** A small table that scrolls horizontally when it is too wide. */
export function DataTable<Row>({ name, columns, rows, rowKey }: DataTableProps<Row>): ReactElement {
  return (
    // A scrollable region must be reachable by keyboard.
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
