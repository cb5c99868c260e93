import type { ReactElement } from "react";
import { type Column, nextSort, type Sort } from "./columns";
import styles from "./VirtualTable.module.css";

interface TableHeadProps<Row> {
  columns: readonly Column<Row>[];
  sort: Sort | null;
  onSort: ((sort: Sort | null) => void) | undefined;
  hasSelection: boolean;
}

const SIGNS = { ascending: "▲", descending: "▼" };

export function TableHead<Row>({ columns, sort, onSort, hasSelection }: TableHeadProps<Row>): ReactElement {
  return (
    <div role="rowgroup" className={styles.head}>
      <div role="row" aria-rowindex={1} className={styles.row}>
        {hasSelection ? (
          <div role="columnheader">
            <span className={styles.hidden}>Selected</span>
          </div>
        ) : null}
        {columns.map((column) => (
          <div
            key={column.key}
            role="columnheader"
            data-align={column.align}
            aria-sort={column.isSortable ? (sort?.key === column.key ? sort.direction : "none") : undefined}
          >
            {column.isSortable && onSort ? (
              <button
                type="button"
                className={styles.sort}
                onClick={() => {
                  onSort(nextSort(sort, column.key));
                }}
              >
                {column.header} <span aria-hidden="true">{sort?.key === column.key ? SIGNS[sort.direction] : "↕"}</span>
              </button>
            ) : (
              column.header
            )}
          </div>
        ))}
      </div>
    </div>
  );
}
