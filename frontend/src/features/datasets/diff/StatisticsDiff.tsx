import type { ReactElement } from "react";
import type { DatasetDiff, SplitStatistics } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { formatNumber } from "../../../ui/display/format";
import { type DataColumn, DataTable } from "../DataTable";

interface Line {
  name: string;
  before: number | null | undefined;
  after: number | null | undefined;
}

const QUANTITIES: readonly [string, (split: SplitStatistics | undefined) => number | null | undefined][] = [
  ["rows", (split) => split?.num_rows],
  ["questions", (split) => split?.num_prompts],
  ["steps, mean", (split) => split?.steps?.mean],
  ["characters, median", (split) => split?.chars?.p50],
  ["characters, 95 %", (split) => split?.chars?.p95],
  ["score, mean", (split) => split?.score?.mean],
];

/** The statistics of both datasets by split, with their difference. */
export function StatisticsDiff({ diff }: { diff: DatasetDiff }): ReactElement {
  const splits = [...new Set([...Object.keys(diff.base_statistics), ...Object.keys(diff.other_statistics)])];
  const lines = splits.flatMap((split) =>
    QUANTITIES.map(([quantity, read]) => ({
      name: `${split}: ${quantity}`,
      before: read(diff.base_statistics[split]),
      after: read(diff.other_statistics[split]),
    })),
  );
  const columns: readonly DataColumn<Line>[] = [
    { header: "Split and quantity", cell: ({ name }) => name },
    { header: diff.base, isNumber: true, cell: ({ before }) => formatNumber(before, 2) },
    { header: diff.other, isNumber: true, cell: ({ after }) => formatNumber(after, 2) },
    { header: "Difference", isNumber: true, cell: difference },
  ];
  return (
    <Card title="Statistics">
      <DataTable name="Statistics" columns={columns} rows={lines} rowKey={({ name }) => name} />
    </Card>
  );
}

function difference({ before, after }: Line): string {
  if (typeof before !== "number" || typeof after !== "number") return "–";
  if (before === after) return "same";
  return `${after > before ? "+" : "−"}${formatNumber(Math.abs(after - before), 2)}`;
}
