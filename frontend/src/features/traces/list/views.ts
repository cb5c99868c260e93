import type { View } from "../../../ui/navigation/views";
import type { TraceSearch } from "./filters";

/** Built-in views. */
export const TRACE_VIEWS: readonly View<TraceSearch>[] = [
  { name: "All", search: {} },
  { name: "Lowest scores", search: { order: "worst" } },
  { name: "Wrong arithmetic", search: { code: ["arithmetic-wrong"] } },
  { name: "Answer mismatch", search: { code: ["answer-mismatch"] } },
  { name: "Reviewed", search: { meta: ["reviewed=true"] } },
];
