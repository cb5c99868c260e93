import type { Removal } from "../../api/schema.gen";

interface RowCounts {
  num_considered: number;
  num_rows: number;
  removed: readonly Removal[];
}

const REMOVAL_LABELS: Record<Removal["reason"], string> = {
  "exact-duplicate": "− exact duplicates",
  "near-duplicate": "− near duplicates",
  "max-per-prompt": "− over the limit per question",
  contaminated: "− overlap with an eval set",
  limit: "− over the row limit",
};

/** From the traces that match the filters to the rows that remain. */
export function rowCountBars({ num_considered, num_rows, removed }: RowCounts): { label: string; value: number }[] {
  return [
    { label: "Traces considered", value: num_considered },
    ...removed.map((removal) => ({ label: REMOVAL_LABELS[removal.reason], value: removal.num_rows })),
    { label: "Rows", value: num_rows },
  ];
}
