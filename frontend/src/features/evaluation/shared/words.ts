import type { EvaluatedModel, EvaluationSummary, GateRule, PairedDifference } from "../../../api/schema.gen";
import { formatShare, formatTime, UNKNOWN } from "../../../ui/display/format";
import { shortRunName } from "../../../ui/display/names";

const ID_CHARS = 8;
const SIGNIFICANT = 0.05;
const MIN_P = 0.001;

/** The first characters of an id: commands take them for the whole. */
export function shortId(id: string): string {
  return id.slice(0, ID_CHARS);
}

/** A difference of two shares, in points: `-0.125` → `−12.5 points`. */
export function formatPoints(difference: number | null | undefined): string {
  if (difference === null || difference === undefined) return UNKNOWN;
  const sign = difference > 0 ? "+" : difference < 0 ? "−" : "±";
  return `${sign}${Math.abs(difference * 100).toFixed(1)} points`;
}

/** The same without the unit, where a heading names it. */
export function formatBarePoints(difference: number): string {
  return formatPoints(difference).replace(" points", "");
}

export function formatP(p: number | null | undefined): string {
  if (p === null || p === undefined) return UNKNOWN;
  return p < MIN_P ? "p < 0.001" : `p = ${p.toFixed(3)}`;
}

/** Whether a difference of two is more than chance makes, in words. */
export function significanceText({ num_lost, num_gained, p_value }: PairedDifference): string {
  if (num_lost === num_gained) return `As many items were lost as gained: no difference (${formatP(p_value)}).`;
  const what = num_lost > num_gained ? "worse" : "better";
  if (p_value < SIGNIFICANT) return `The other is ${what}, by more than chance explains (${formatP(p_value)}).`;
  return `Chance alone explains this difference (${formatP(p_value)}).`;
}

/** A model by name; random weights by their seed too. */
export function modelName(model: EvaluatedModel): string {
  return model.weights === "random" ? `${model.name} (random, seed ${model.seed ?? UNKNOWN})` : model.name;
}

/** Whether a run of ours trained it; texts that something else wrote have no model here. */
export function modelKind({ run_id, origin }: EvaluatedModel): "trained" | "texts" | "base" {
  if (run_id != null) return "trained";
  return origin === "predictions" ? "texts" : "base";
}

/** An evaluation in one line, as it stands in a list to choose from. */
export function evaluationLabel(summary: EvaluationSummary): string {
  const { model, evalset, primary_score, created_at, evaluation_id } = summary;
  const score = formatShare(primary_score);
  return `${shortRunName(modelName(model))} on ${evalset}: ${score}, ${formatTime(created_at)} (${shortId(evaluation_id)})`;
}

/** What a rule forbids, one sentence each. */
export function ruleSentences(rule: GateRule): string[] {
  const protectedOnes = [
    ["section", rule.protected_sections],
    ["category", rule.protected_categories],
    ["item", rule.protected_items],
  ] as const;
  return [
    `A loss with p below ${rule.alpha ?? SIGNIFICANT} fails.`,
    rule.max_unscored
      ? `At most ${formatShare(rule.max_unscored)} of the items may lack a verdict.`
      : "Every item must have a verdict.",
    ...protectedOnes.flatMap(([what, names]) =>
      (names ?? []).map((name) => `What was right in ${what} ${name} stays right.`),
    ),
  ];
}
