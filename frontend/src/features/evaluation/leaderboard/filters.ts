import type { LeaderboardQuery } from "../queries";
import { shellQuoted } from "../../../ui/copy/snippets";
import { asFlag, asText, searchParams } from "../../../ui/navigation/search";

/** The filters of the leaderboard, as in the URL. */
export const boardFilters = searchParams({
  model: asText,
  eval_set: asText,
  dataset: asText,
  recipe: asText,
  date_from: asText,
  date_to: asText,
  all: asFlag,
});
export type BoardFilters = ReturnType<typeof boardFilters>;

const OPTIONS = {
  model: "model",
  eval_set: "eval-set",
  dataset: "dataset",
  recipe: "recipe",
  date_from: "from",
  date_to: "to",
} as const;

export function boardQuery({ all, ...filters }: BoardFilters): LeaderboardQuery {
  return all ? { ...filters, shows_all: true } : filters;
}

export function boardCommand({ all, ...filters }: BoardFilters): string {
  const names = Object.keys(OPTIONS) as (keyof typeof OPTIONS)[];
  const words = names.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [`--${OPTIONS[name]} ${shellQuoted(value)}`];
  });
  return ["tunix-rt eval leaderboard", ...words, ...(all ? ["--all"] : [])].join(" ");
}

export function boardPath(filters: BoardFilters): string {
  const words = Object.entries(boardQuery(filters)).map(([name, value]): [string, string] => [name, String(value)]);
  const query = new URLSearchParams(words).toString();
  return query === "" ? "/api/tunix/leaderboard" : `/api/tunix/leaderboard?${query}`;
}
