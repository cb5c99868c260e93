import type { CSSProperties, KeyboardEvent, ReactElement } from "react";
import type { VirtualTableProps } from "./VirtualTable";
import styles from "./VirtualTable.module.css";

interface TableRowProps<Row> extends Pick<VirtualTableProps<Row>, "columns" | "rowKey" | "onOpen" | "selection"> {
  index: number;
  row: Row | undefined;
  isActive: boolean;
  onActivate: (index: number) => void;
  style: CSSProperties;
}

export function TableRow<Row>(props: TableRowProps<Row>): ReactElement {
  const { columns, index, row, isActive, onActivate, selection, style } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-busy={row === undefined || undefined}
      aria-selected={selection && row !== undefined ? selection.has(row) : undefined}
      data-index={index}
      tabIndex={isActive ? 0 : -1}
      className={styles.row}
      style={style}
      onFocus={() => {
        onActivate(index);
      }}
      onKeyDown={(event) => {
        onRowKey(event, props);
      }}
    >
      {selection ? <SelectionCell {...props} /> : null}
      {columns.map((column) => (
        <div key={column.key} role="gridcell" data-align={column.align} className={styles.cell}>
          {row === undefined ? <span className={styles.gap} /> : column.cell(row)}
        </div>
      ))}
    </div>
  );
}

function SelectionCell<Row>({ row, rowKey, selection }: TableRowProps<Row>): ReactElement {
  return (
    <div role="gridcell" className={styles.cell}>
      {row === undefined || selection === undefined ? null : (
        <input
          type="checkbox"
          aria-label={`Select ${rowKey(row)}`}
          checked={selection.has(row)}
          onChange={(event) => {
            selection.toggle(row, event.nativeEvent instanceof MouseEvent && event.nativeEvent.shiftKey);
          }}
        />
      )}
    </div>
  );
}

function onRowKey<Row>(event: KeyboardEvent, { row, onOpen, selection }: TableRowProps<Row>): void {
  // Keys pressed inside a cell belong to its content.
  if (row === undefined || event.target !== event.currentTarget) return;
  if (event.key === "Enter" && onOpen) {
    event.preventDefault();
    onOpen(row);
  }
  if (event.key === " " && selection) {
    event.preventDefault();
    selection.toggle(row, event.shiftKey);
  }
}
