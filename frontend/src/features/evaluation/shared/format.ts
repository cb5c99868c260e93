import type { EvaluatedModel, EvaluationSummary, GateRule, PairedDifference } from "../../../api/schema.gen";
import { formatNumber, formatShare, formatTime, shortRunName, UNKNOWN } from "../../../ui/display/format";

const ID_CHARS = 8;
const SIGNIFICANT = 0.05;
const MIN_P = 0.001;

/** The first characters of an id, which commands accept as a prefix. */
export function shortId(id: string): string {
  return id.slice(0, ID_CHARS);
}

/** A difference of two rates in percentage points: `-0.125` → `−12.5 points`. */
export function formatPoints(difference: number | null | undefined): string {
  if (difference === null || difference === undefined) return UNKNOWN;
  const sign = difference > 0 ? "+" : difference < 0 ? "−" : "±";
  return `${sign}${Math.abs(difference * 100).toFixed(1)} points`;
}

/** The same without the unit, for columns whose header names it. */
export function formatBarePoints(difference: number): string {
  return formatPoints(difference).replace(" points", "");
}

export function formatP(p: number | null | undefined): string {
  if (p === null || p === undefined) return UNKNOWN;
  return p < MIN_P ? "p < 0.001" : `p = ${p.toFixed(3)}`;
}

/** Describes whether a difference is statistically significant. */
export function significanceText({ num_lost, num_gained, p_value }: PairedDifference): string {
  if (num_lost === num_gained) return `As many items were lost as gained: no difference (${formatP(p_value)}).`;
  const what = num_lost > num_gained ? "worse" : "better";
  if (p_value < SIGNIFICANT) return `The other is significantly ${what} (${formatP(p_value)}).`;
  return `The difference is not significant (${formatP(p_value)}).`;
}

/** The name of a model, with the seed of random weights. */
export function modelName(model: EvaluatedModel): string {
  return model.weights === "random" ? `${model.name} (random, seed ${model.seed ?? UNKNOWN})` : model.name;
}

/** Whether the model was trained by a run, is a base model, or is unknown because the predictions are external. */
export function modelKind({ run_id, origin }: EvaluatedModel): "trained" | "texts" | "base" {
  if (run_id != null) return "trained";
  return origin === "predictions" ? "texts" : "base";
}

/** The label of an evaluation in a select. */
export function evaluationLabel(summary: EvaluationSummary): string {
  const { model, evalset, primary_score, created_at, evaluation_id } = summary;
  const score = formatShare(primary_score);
  return `${shortRunName(modelName(model))} on ${evalset}: ${score}, ${formatTime(created_at)} (${shortId(evaluation_id)})`;
}

/** The conditions of a rule, one sentence each. */
export function ruleSentences(rule: GateRule): string[] {
  const protectedGroups = [
    ["section", rule.protected_sections],
    ["category", rule.protected_categories],
    ["item", rule.protected_items],
  ] as const;
  return [
    `A loss with p < ${rule.alpha ?? SIGNIFICANT} fails.`,
    rule.max_unscored
      ? `At most ${formatShare(rule.max_unscored)} of the items may be unscored.`
      : "Every item must be scored.",
    ...protectedGroups.flatMap(([what, names]) =>
      (names ?? []).map((name) => `Every item correct in ${what} ${name} must stay correct.`),
    ),
  ];
}

/** The number of tokens. External predictions are not counted. */
export function tokensText(numTokens: number | undefined): string {
  return numTokens ? formatNumber(numTokens) : UNKNOWN;
}
