import { referenceOf } from "../queries";
import type { VersionDetail } from "../../../api/schema.gen";
import { formatNumber, formatShare, formatValue } from "../../../ui/display/format";

export type NodeKind = "dataset" | "base" | "parent" | "run" | "version" | "evaluation" | "more";

/** A node in the lineage of a version. */
export interface LineageNode {
  kind: NodeKind;
  /** The id of the record: a dataset key, a run id or an evaluation id. */
  id: string;
  label: string;
  detail: string;
}

const NUM_EVALUATIONS_SHOWN = 4;

/** The lineage of a version in columns, from sources to evaluations. */
export function lineageColumns(version: VersionDetail): LineageNode[][] {
  const columns = [sourcesOf(version), runOf(version), [itself(version)], evaluationsOf(version)];
  return columns.filter((nodes) => nodes.length > 0);
}

function sourcesOf({ lineage }: VersionDetail): LineageNode[] {
  const { dataset, parent, base } = lineage;
  const origin = base?.weights === "random" ? "random weights" : "base model";
  return [
    ...(dataset ? [{ kind: "dataset" as const, id: dataset, label: dataset, detail: "dataset" }] : []),
    ...(parent ? [{ kind: "parent" as const, id: parent, label: parent, detail: "parent version" }] : []),
    ...(base && !parent ? [{ kind: "base" as const, id: base.name, label: base.name, detail: origin }] : []),
  ];
}

function runOf({ lineage }: VersionDetail): LineageNode[] {
  const { run_id, step, is_checkpoint, figures } = lineage;
  if (!run_id) return [];
  const steps = step == null ? "run" : `${is_checkpoint ? "checkpoint at" : "run of"} ${formatNumber(step)} steps`;
  const loss = figures == null ? "" : `, loss ${formatValue(figures.final_loss)}`;
  return [{ kind: "run", id: run_id, label: run_id, detail: `${steps}${loss}` }];
}

function itself(version: VersionDetail): LineageNode {
  const kind = version.kind === "adapter" ? "adapter" : "full model";
  return { kind: "version", id: version.id, label: referenceOf(version), detail: kind };
}

function evaluationsOf({ evaluations }: VersionDetail): LineageNode[] {
  const shown = evaluations.slice(0, NUM_EVALUATIONS_SHOWN).map((one): LineageNode => {
    const detail = `${formatShare(one.primary_score)}, n = ${formatNumber(one.num_scored)}`;
    return { kind: "evaluation", id: one.evaluation_id, label: one.evalset, detail };
  });
  const numMore = evaluations.length - shown.length;
  if (numMore === 0) return shown;
  return [...shown, { kind: "more", id: "more", label: `${formatNumber(numMore)} more`, detail: "listed below" }];
}

/**
 * Edges between all nodes of two adjacent, vertically centred columns, in units of a row.
 *
 * @example
 * connections(1, 2, 2) // [[1, 0.5], [1, 1.5]]
 */
export function connections(numLeft: number, numRight: number, numRows: number): [number, number][] {
  const centre = (index: number, count: number): number => numRows / 2 + index - (count - 1) / 2;
  return Array.from({ length: numLeft }, (_, left) =>
    Array.from({ length: numRight }, (_, right): [number, number] => [centre(left, numLeft), centre(right, numRight)]),
  ).flat();
}
