import type { ReactNode } from "react";

export interface Column<Row> {
  /** Also its name in the URL when it is sortable. */
  key: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** A CSS grid track. Defaults to `minmax(6rem, 1fr)`. */
  width?: string;
  align?: "start" | "end";
  isSortable?: boolean;
  /** Hidden on a phone. */
  isSecondary?: boolean;
}

export interface Sort {
  key: string;
  direction: "ascending" | "descending";
}

/** The sort after a click on a header: ascending, descending, none. */
export function nextSort(sort: Sort | null, key: string): Sort | null {
  if (sort?.key !== key) return { key, direction: "ascending" };
  return sort.direction === "ascending" ? { key, direction: "descending" } : null;
}
