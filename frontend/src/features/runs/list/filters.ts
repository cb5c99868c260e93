import { shellQuoted } from "../../../ui/copy/snippets";
import { asManyOf, asText, asTexts, searchParams } from "../../../ui/navigation/search";
import { RUN_STATUSES } from "../../../ui/display/StatusBadge";

/** The filters of the list and the runs that are marked, as its URL has them. */
export const runSearch = searchParams({
  text: asText,
  status: asManyOf(RUN_STATUSES),
  dataset: asText,
  model: asText,
  pick: asTexts,
});

export type RunSearch = ReturnType<typeof runSearch>;
export type RunFilters = Omit<RunSearch, "pick">;

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
