import type { ReactElement } from "react";
import { formatNumber, formatValue } from "../display/format";
import { VirtualTable } from "../tables/VirtualTable";
import { aligned, type Series } from "./series";

interface CurveTableProps {
  title: string;
  series: readonly Series[];
  xLabel: string;
  format?: (value: number) => string;
}

/** The values of the curves. */
export function CurveTable({ title, series, xLabel, format = formatValue }: CurveTableProps): ReactElement {
  const [xs = [], ...columns] = aligned(series);
  return (
    <VirtualTable
      name={`${title}, as a table`}
      numRows={xs.length}
      rowAt={(index) => index}
      rowKey={String}
      rowHeight={32}
      height="18rem"
      columns={[
        { key: "x", header: xLabel, cell: (index) => formatNumber(xs[index], 2), align: "end", width: "7rem" },
        ...columns.map((ys, column) => ({
          key: `${column}`,
          header: series[column]?.name ?? "",
          align: "end" as const,
          cell: (index: number) => {
            const value = ys[index];
            return value === null || value === undefined ? "–" : format(value);
          },
        })),
      ]}
    />
  );
}
