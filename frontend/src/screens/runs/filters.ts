import { shellQuoted } from "../../ui/copy/snippets";
import { asManyOf, asText, searchParams } from "../../ui/navigation/search";
import { RUN_STATUSES } from "../../ui/text/StatusBadge";

/** The filters of the list, as its URL has them. */
export const runFilters = searchParams({
  text: asText,
  status: asManyOf(RUN_STATUSES),
  dataset: asText,
  model: asText,
});

export type RunFilters = ReturnType<typeof runFilters>;

/** The list as it is filtered, as a command. */
export function listCommand(filters: RunFilters): string {
  return ["tunix-rt runs list", ...words(filters).map(([name, value]) => `--${name} ${shellQuoted(value)}`)].join(" ");
}

/** The same as the path of a request. */
export function listPath(filters: RunFilters): string {
  const query = new URLSearchParams(words(filters)).toString();
  return query === "" ? "/api/tunix/runs" : `/api/tunix/runs?${query}`;
}

function words(filters: RunFilters): [string, string][] {
  return Object.entries(filters).flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, one]));
}
