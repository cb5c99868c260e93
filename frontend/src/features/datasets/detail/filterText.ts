import type { TraceFilter } from "../../../api/schema.gen";

/** Describes a trace filter in words. */
export function filterText(filters: TraceFilter = {}): string {
  const { source, labels = {}, tags = [], with_codes = [], without_codes = [], min_score, max_score, query } = filters;
  const parts = [
    source ? `source ${source}` : "",
    ...Object.entries(labels).map(([name, value]) => `${name} ${value}`),
    ...tags.map((tag) => `tag ${tag}`),
    min_score === null || min_score === undefined ? "" : `score ≥ ${min_score}`,
    max_score === null || max_score === undefined ? "" : `score ≤ ${max_score}`,
    ...with_codes.map((code) => `with ${code}`),
    ...without_codes.map((code) => `without ${code}`),
    query ? `words “${query}”` : "",
  ];
  return parts.filter(Boolean).join(", ") || "all";
}
