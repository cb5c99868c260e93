import type { View } from "../../../ui/navigation/views";
import type { RunFilters } from "./filters";

/** Built-in views. */
export const RUN_VIEWS: readonly View<RunFilters>[] = [
  { name: "All", search: {} },
  { name: "Active", search: { status: ["queued", "running", "cancelling"] } },
  { name: "Failed", search: { status: ["failed"] } },
  { name: "Succeeded", search: { status: ["succeeded"] } },
];
