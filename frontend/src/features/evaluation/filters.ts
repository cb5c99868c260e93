import type { ItemQuery } from "./queries";
import { shellQuoted } from "../../ui/copy/snippets";
import { VERDICTS } from "./shared/VerdictBadge";
import { asCount, asFlag, asOneOf, asText, asTexts, searchParams } from "../../ui/navigation/search";

const RULES = ["answer-tag", "after-think", "boxed", "hash", "answer-phrase", "last-number"] as const;
export const EVALUATION_TABS = ["scores", "items", "protocol", "faithfulness"] as const;
export const DIRECTIONS = ["lost", "unscored", "gained"] as const;

/** The list's filters, order and chosen rows, as its URL has them. */
export const evaluationFilters = searchParams({
  model: asText,
  eval_set: asText,
  dataset: asText,
  recipe: asText,
  order: asOneOf(["best"]),
  pick: asTexts,
  /** Whether the dialog that starts an evaluation is open. */
  evaluating: asFlag,
});
export type EvaluationFilters = ReturnType<typeof evaluationFilters>;

const ITEM_READERS = {
  verdict: asOneOf(VERDICTS),
  section: asText,
  category: asText,
  difficulty: asText,
  rule: asOneOf(RULES),
  text: asText,
};

/** The tab of an evaluation and the filters of its items. */
export const evaluationSearch = searchParams({ tab: asOneOf(EVALUATION_TABS), ...ITEM_READERS });
export type EvaluationSearch = ReturnType<typeof evaluationSearch>;

/** Where an item stands in the list that it was opened from: `at`, under the list's filters. */
export const itemSearch = searchParams({ at: asCount, ...ITEM_READERS });
export type ItemSearch = ReturnType<typeof itemSearch>;
export type ItemFilters = Omit<ItemSearch, "at">;

/** What the flip board shows. */
export const flipSearch = searchParams({
  base: asText,
  other: asText,
  different: asFlag,
  direction: asOneOf(DIRECTIONS),
  section: asText,
  text: asText,
  shown: asCount,
});
export type FlipSearch = ReturnType<typeof flipSearch>;

export const RULE_CHOICES = RULES;

/** Only the filters of items, without the tab or the place in the list. */
export function itemFilters({ verdict, section, category, difficulty, rule, text }: ItemFilters): ItemFilters {
  const given = Object.entries({ verdict, section, category, difficulty, rule, text });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** The list as a command; `order` is how the screen sorts, which the command does not. */
export function listCommand({ model, eval_set, dataset, recipe }: EvaluationFilters): string {
  return command("tunix-rt eval list", { model, "eval-set": eval_set, dataset, recipe });
}

export function listPath({ model, eval_set, dataset, recipe, order }: EvaluationFilters): string {
  return path("/api/evaluations", { model, eval_set, dataset, recipe, order });
}

export function itemsCommand(evaluationId: string, filters: ItemQuery): string {
  return command(`tunix-rt eval items ${evaluationId}`, { ...filters });
}

export function itemsPath(evaluationId: string, filters: ItemQuery): string {
  return path(`/api/evaluations/${evaluationId}/items`, { ...filters });
}

export function compareCommand({ base, other, different, section }: FlipSearch): string {
  const start = `tunix-rt compare ${base ?? "A"} ${other ?? "B"}${different ? " --allow-different-protocols" : ""}`;
  return command(start, { section });
}

export function comparePath({ base, other, different }: FlipSearch): string {
  return path("/api/evaluations/compare", { base, other, allow_different_protocols: different ? "true" : undefined });
}

type Words = Record<string, string | number | null | undefined>;

function command(start: string, options: Words): string {
  return [start, ...given(options).map(([name, value]) => `--${name} ${shellQuoted(value)}`)].join(" ");
}

function path(start: string, query: Words): string {
  const words = new URLSearchParams(given(query)).toString();
  return words === "" ? start : `${start}?${words}`;
}

function given(words: Words): [string, string][] {
  return Object.entries(words).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === null ? [] : [[name, String(value)]],
  );
}
