import type { Removal } from "../../api/schema.gen";

interface Taken {
  num_considered: number;
  num_rows: number;
  removed: readonly Removal[];
}

const WHY: Record<Removal["reason"], string> = {
  "exact-duplicate": "− the same solution again",
  "near-duplicate": "− almost the same solution",
  "max-per-prompt": "− too many of one question",
  contaminated: "− asked by an eval set",
  limit: "− over the limit",
};

/** From the traces that the filters let through to the rows that stay. */
export function takenBars({ num_considered, num_rows, removed }: Taken): { label: string; value: number }[] {
  return [
    { label: "Traces considered", value: num_considered },
    ...removed.map((removal) => ({ label: WHY[removal.reason], value: removal.num_rows })),
    { label: "Rows", value: num_rows },
  ];
}
