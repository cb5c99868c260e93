import type { RunDetail } from "../../../api/schema.gen";

/** A run and its position in the selection, which determines its colour. */
export interface ComparedRun {
  run: RunDetail;
  index: number;
}
