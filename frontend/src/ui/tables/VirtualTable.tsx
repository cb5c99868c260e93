import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type KeyboardEvent, type ReactElement, useEffect, useRef, useState } from "react";
import { useIsPhone } from "../hooks/useIsPhone";
import type { Column, Sort } from "./columns";
import { TableHead } from "./TableHead";
import { TableRow } from "./TableRow";
import styles from "./VirtualTable.module.css";

export interface VirtualTableProps<Row> {
  /** The accessible name of the table, such as "Runs". */
  name: string;
  columns: readonly Column<Row>[];
  numRows: number;
  /** Returns undefined for a row that is not loaded; it is shown as a placeholder. */
  rowAt: (index: number) => Row | undefined;
  rowKey: (row: Row) => string;
  /** Called with the visible range, both ends included, to fetch its pages. */
  onRange?: (first: number, last: number) => void;
  sort?: Sort | null;
  onSort?: (sort: Sort | null) => void;
  /** Called on Enter. */
  onOpen?: (row: Row) => void;
  /** Row selection, by checkbox or Space. */
  selection?: { has: (row: Row) => boolean; toggle: (row: Row, isRange: boolean) => void };
  rowHeight?: number;
  /** CSS height of the scroll area. */
  height?: string;
}

const OVERSCAN = 12;

/** A virtualized table of any number of rows. Arrow keys move, Enter opens, Space selects. */
export function VirtualTable<Row>(props: VirtualTableProps<Row>): ReactElement {
  const { name, numRows, onRange, rowHeight = 44, height = "min(70dvh, 60rem)" } = props;
  const isPhone = useIsPhone();
  const columns = props.columns.filter((column) => !(isPhone && column.isSecondary));
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  // The React compiler cannot analyse the virtualizer. This component is not memoized manually either.
  // eslint-disable-next-line react-hooks/incompatible-library
  const virtual = useVirtualizer({
    count: numRows,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    initialRect: { width: 1_000, height: 600 },
  });
  const items = virtual.getVirtualItems();
  useRange(items[0]?.index ?? 0, items.at(-1)?.index ?? 0, onRange);
  const goTo = (index: number): void => {
    const next = Math.max(0, Math.min(index, numRows - 1));
    setActive(next);
    virtual.scrollToIndex(next);
    focusRow(scroller.current, next);
  };
  const page = Math.max(1, items.length - 2 * OVERSCAN);
  const tracks = columns.map(({ width }) => width ?? "minmax(6rem, 1fr)").join(" ");
  return (
    <div
      ref={scroller}
      className={styles.scroller}
      style={{ "--tracks": props.selection ? `2.25rem ${tracks}` : tracks, maxHeight: height } as CSSProperties}
    >
      {/* Rows take the focus one at a time, so the grid itself is not a tab stop. */}
      {/* eslint-disable-next-line jsx-a11y/interactive-supports-focus */}
      <div
        role="grid"
        className={styles.grid}
        aria-label={name}
        aria-rowcount={numRows + 1}
        aria-colcount={columns.length}
        onKeyDown={(event) => {
          onGridKey(event, { active, page, numRows, goTo });
        }}
      >
        <TableHead columns={columns} sort={props.sort ?? null} onSort={props.onSort} hasSelection={!!props.selection} />
        <div role="rowgroup" className={styles.body} style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start, size }) => (
            <TableRow
              key={index}
              {...props}
              columns={columns}
              index={index}
              row={props.rowAt(index)}
              isActive={index === Math.min(active, numRows - 1)}
              onActivate={setActive}
              style={{ transform: `translateY(${start}px)`, height: size }}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface GridMoves {
  active: number;
  page: number;
  numRows: number;
  goTo: (index: number) => void;
}

function onGridKey(event: KeyboardEvent, { active, page, numRows, goTo }: GridMoves): void {
  if (!(event.target instanceof HTMLElement) || event.target.getAttribute("role") !== "row") return;
  const moves: Record<string, number> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: numRows - 1,
  };
  const next = moves[event.key];
  if (next === undefined) return;
  event.preventDefault();
  goTo(next);
}

function focusRow(scroller: HTMLElement | null, index: number): void {
  // Scrolling renders the row in the next frame.
  requestAnimationFrame(() => {
    scroller?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus({ preventScroll: true });
  });
}

function useRange(first: number, last: number, onRange?: (first: number, last: number) => void): void {
  const latest = useRef(onRange);
  useEffect(() => {
    latest.current = onRange;
  });
  useEffect(() => {
    latest.current?.(first, last);
  }, [first, last]);
}
