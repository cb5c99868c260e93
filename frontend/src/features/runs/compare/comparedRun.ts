import type { RunDetail } from "../../../api/schema.gen";

/** A run and its place among those that were chosen, which gives it its colour. */
export interface ComparedRun {
  run: RunDetail;
  index: number;
}
