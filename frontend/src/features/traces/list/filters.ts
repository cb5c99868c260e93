import type { TraceQuery } from "../queries";
import { shellQuoted } from "../../../ui/copy/snippets";
import { asNumber, asOneOf, asText, asTexts, searchParams, withChanges } from "../../../ui/navigation/search";
import type { Sort } from "../../../ui/tables/columns";

const ORDERS = ["newest", "oldest", "best", "worst"] as const;

/** The filters and the order of the list, as they appear in the URL and in API requests. */
export const traceSearch = searchParams({
  query: asText,
  source: asText,
  tag: asTexts,
  meta: asTexts,
  code: asTexts,
  without_code: asTexts,
  min_score: asScore,
  max_score: asScore,
  order: asOneOf(ORDERS),
});

export type TraceSearch = ReturnType<typeof traceSearch>;
export type TraceSearchChange = { [Key in keyof TraceSearch]: TraceSearch[Key] | undefined };

function asScore(raw: unknown): number | undefined {
  const score = asNumber(raw);
  return score !== undefined && score >= 0 && score <= 100 ? score : undefined;
}

/** The filters without the order. */
export function filtersOf(search: TraceSearch): Omit<TraceSearch, "order"> {
  return withChanges<TraceSearch>({ order: undefined })(search);
}

export function isFiltered(search: TraceSearch): boolean {
  return Object.keys(filtersOf(search)).length > 0;
}

/** The filtered list as a command. */
export function listCommand(search: TraceSearch): string {
  const options = words(search).map(([name, value]) => `--${name.replaceAll("_", "-")} ${shellQuoted(value)}`);
  return ["tunix-rt traces list", ...options].join(" ");
}

/** The same as the path of a request. */
export function listPath(search: TraceSearch): string {
  const query = new URLSearchParams(words(search)).toString();
  return query === "" ? "/api/traces" : `/api/traces?${query}`;
}

/** The order as a sorted column of the table. */
export function sortOf(order: TraceSearch["order"]): Sort {
  const sorts: Record<NonNullable<TraceQuery["order"]>, Sort> = {
    newest: { key: "created", direction: "descending" },
    oldest: { key: "created", direction: "ascending" },
    best: { key: "score", direction: "descending" },
    worst: { key: "score", direction: "ascending" },
  };
  return sorts[order ?? "newest"];
}

/** The order for a sorted column of the table. Newest first is the default, so it is left out of the URL. */
export function orderOf(sort: Sort | null): TraceSearch["order"] {
  if (sort?.key === "score") return sort.direction === "ascending" ? "worst" : "best";
  return sort?.key === "created" && sort.direction === "ascending" ? "oldest" : undefined;
}

function words(search: TraceSearch): [string, string][] {
  return Object.entries(search).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  );
}
