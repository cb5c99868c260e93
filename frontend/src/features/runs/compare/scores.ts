import type { EvaluationSummary } from "../../../api/schema.gen";

export interface ScoreGroup {
  evalset: string;
  /** Only evaluations with the same fingerprint are comparable. */
  fingerprint: string;
  /** The newest evaluation of each run, in the order of the runs. */
  evaluations: EvaluationSummary[];
}

/** Groups evaluations by eval set and protocol, largest groups first. */
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
