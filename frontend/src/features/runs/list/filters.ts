import { shellQuoted } from "../../../ui/copy/snippets";
import { asManyOf, asText, asTexts, searchParams } from "../../../ui/navigation/search";
import { RUN_STATUSES } from "../../../ui/display/StatusBadge";

/** The filters and the selected runs, as in the URL. */
export const runSearch = searchParams({
  text: asText,
  status: asManyOf(RUN_STATUSES),
  dataset: asText,
  model: asText,
  pick: asTexts,
});

export type RunSearch = ReturnType<typeof runSearch>;
export type RunFilters = Omit<RunSearch, "pick">;

/** The filtered list as a command. */
export function listCommand(filters: RunFilters): string {
  return ["tunix-rt runs list", ...words(filters).map(([name, value]) => `--${name} ${shellQuoted(value)}`)].join(" ");
}

/** The equivalent request path. */
export function listPath(filters: RunFilters): string {
  const query = new URLSearchParams(words(filters)).toString();
  return query === "" ? "/api/tunix/runs" : `/api/tunix/runs?${query}`;
}

function words(filters: RunFilters): [string, string][] {
  return Object.entries(filters).flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, one]));
}
