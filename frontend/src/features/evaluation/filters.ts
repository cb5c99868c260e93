import type { ItemQuery } from "./queries";
import { shellQuoted } from "../../ui/copy/snippets";
import { VERDICTS } from "./shared/VerdictBadge";
import { asCount, asFlag, asOneOf, asText, asTexts, searchParams } from "../../ui/navigation/search";

const RULES = ["answer-tag", "after-think", "boxed", "hash", "answer-phrase", "last-number"] as const;
export const EVALUATION_TABS = ["scores", "items", "protocol", "faithfulness"] as const;
export const DIRECTIONS = ["lost", "unscored", "gained"] as const;

/** The filters, order and selected rows of the list, as in the URL. */
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

/** The position (`at`) of an item in the filtered list it was opened from. */
export const itemSearch = searchParams({ at: asCount, ...ITEM_READERS });
export type ItemSearch = ReturnType<typeof itemSearch>;
export type ItemFilters = Omit<ItemSearch, "at">;

/** The evaluations to compare and the filters of their flips. */
export const comparisonSearch = searchParams({
  base: asText,
  other: asText,
  different: asFlag,
  direction: asOneOf(DIRECTIONS),
  section: asText,
  text: asText,
  shown: asCount,
});
export type ComparisonSearch = ReturnType<typeof comparisonSearch>;

export const RULE_CHOICES = RULES;

/** Only the item filters, without the tab or position. */
export function itemFilters({ verdict, section, category, difficulty, rule, text }: ItemFilters): ItemFilters {
  const given = Object.entries({ verdict, section, category, difficulty, rule, text });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** The list as a command, which does not support `order`. */
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

export function compareCommand({ base, other, different, section }: ComparisonSearch): string {
  const start = `tunix-rt compare ${base ?? "A"} ${other ?? "B"}${different ? " --allow-different-protocols" : ""}`;
  return command(start, { section });
}

export function comparePath({ base, other, different }: ComparisonSearch): string {
  return path("/api/evaluations/compare", { base, other, allow_different_protocols: different ? "true" : undefined });
}

type Options = Record<string, string | number | null | undefined>;

function command(start: string, options: Options): string {
  return [start, ...given(options).map(([name, value]) => `--${name} ${shellQuoted(value)}`)].join(" ");
}

function path(start: string, query: Options): string {
  const words = new URLSearchParams(given(query)).toString();
  return words === "" ? start : `${start}?${words}`;
}

function given(words: Options): [string, string][] {
  return Object.entries(words).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === null ? [] : [[name, String(value)]],
  );
}
