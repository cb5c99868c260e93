import type { EvaluationSummary } from "../../../api/schema.gen";

export interface ScoreGroup {
  evalset: string;
  /** Evaluations can only be held against each other when they were made in the same way. */
  fingerprint: string;
  /** The newest of each run, in the order of the runs. */
  evaluations: EvaluationSummary[];
}

/** Evaluations by eval set and protocol, the groups with most runs first. */
export function scoreGroups(runIds: readonly string[], evaluations: readonly EvaluationSummary[]): ScoreGroup[] {
  const groups = new Map<string, ScoreGroup>();
  for (const evaluation of newestFirst(evaluations)) {
    const { evalset, fingerprint, model } = evaluation;
    const key = `${evalset}\n${fingerprint}`;
    const group = groups.get(key) ?? { evalset, fingerprint, evaluations: [] };
    groups.set(key, group);
    if (!group.evaluations.some((other) => other.model.run_id === model.run_id)) group.evaluations.push(evaluation);
  }
  const place = ({ model }: EvaluationSummary): number => runIds.indexOf(model.run_id ?? "");
  groups.forEach((group) => group.evaluations.sort((a, b) => place(a) - place(b)));
  return [...groups.values()].sort((a, b) => b.evaluations.length - a.evaluations.length);
}

function newestFirst(evaluations: readonly EvaluationSummary[]): EvaluationSummary[] {
  return [...evaluations].sort((a, b) => b.created_at.localeCompare(a.created_at));
}
