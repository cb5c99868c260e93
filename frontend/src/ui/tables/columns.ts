import type { ReactNode } from "react";

export interface Column<Row> {
  /** Also its name in the URL when it can be sorted by. */
  key: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** A track of a CSS grid; `minmax(6rem, 1fr)` when not given. */
  width?: string;
  align?: "start" | "end";
  isSortable?: boolean;
  /** Left out on a phone. */
  isSecondary?: boolean;
}

export interface Sort {
  key: string;
  direction: "ascending" | "descending";
}

/** The sort after a press on a header: ascending, descending, none. */
export function nextSort(sort: Sort | null, key: string): Sort | null {
  if (sort?.key !== key) return { key, direction: "ascending" };
  return sort.direction === "ascending" ? { key, direction: "descending" } : null;
}
