import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DatasetManifest, Removal, TraceFilter } from "../../../api/schema.gen";
import { Bars } from "../../../ui/charts/Bars";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatNumber, formatShare, UNKNOWN } from "../../../ui/display/format";
import styles from "../datasets.module.css";
import { type DataColumn, DataTable } from "../DataTable";
import { rowCountBars } from "../rowCounts";
import { Lineage } from "./Lineage";

interface RemovedExample {
  reason: Removal["reason"];
  trace_id: string;
  because_of: string;
  similarity: number;
}

const REMOVED: readonly DataColumn<RemovedExample>[] = [
  { header: "Reason", cell: ({ reason }) => reason },
  {
    header: "Trace",
    cell: ({ trace_id }) => (
      <Link to="/traces/$traceId" params={{ traceId: trace_id }}>
        {trace_id.slice(0, 8)}
      </Link>
    ),
  },
  { header: "Because of", cell: ({ because_of }) => <span className={styles.hash}>{because_of}</span> },
  { header: "Similarity", isNumber: true, cell: ({ similarity }) => formatShare(similarity, 0) },
];

/** How the dataset was built: its spec, the removed rows with their reasons, and the runs that use it. */
export function Origin({ manifest }: { manifest: DatasetManifest }): ReactElement {
  const examples = manifest.removed.flatMap(({ reason, examples: pairs = [] }) =>
    pairs.map((pair) => ({ reason, ...pair })),
  );
  return (
    <div className={styles.stack}>
      <Lineage manifest={manifest} />
      <Card title="Build spec">
        <Facts facts={specFacts(manifest)} />
      </Card>
      <Bars title="From traces to rows" bars={rowCountBars(manifest)} />
      {examples.length === 0 ? null : (
        <Card title="Examples of removed rows">
          <DataTable
            name="Removed rows"
            columns={REMOVED}
            rows={examples}
            rowKey={({ reason, trace_id }) => `${reason} ${trace_id}`}
          />
        </Card>
      )}
    </div>
  );
}

function specFacts({ spec, tool_version, lineage }: DatasetManifest): Record<string, string> {
  const splits = Object.entries(spec.splits ?? {}).map(([name, share]) => `${name} ${formatShare(share, 0)}`);
  return {
    Traces: filterText(spec.filters),
    Splits: splits.join(", "),
    Seed: formatNumber(spec.seed),
    Duplicates: duplicatesText(spec),
    "Solutions per question": spec.max_per_prompt ? `at most ${formatNumber(spec.max_per_prompt)}` : "unlimited",
    Limit: spec.limit ? `${formatNumber(spec.limit)}, ${spec.selection_strategy}` : "none",
    Linter: lineage.linter_version ?? "not run",
    "Built with": `tunix-rt ${tool_version}`,
  };
}

function duplicatesText({ dedup, near_threshold }: DatasetManifest["spec"]): string {
  if (dedup === "none") return "kept";
  return dedup === "near"
    ? `near duplicates removed, threshold ${near_threshold ?? UNKNOWN}`
    : "exact duplicates removed";
}

/** Describes a trace filter in words. */
export function filterText(filters: TraceFilter = {}): string {
  const { source, labels = {}, tags = [], with_codes = [], without_codes = [], min_score, max_score, query } = filters;
  const parts = [
    source ? `source ${source}` : "",
    ...Object.entries(labels).map(([name, value]) => `${name} ${value}`),
    ...tags.map((tag) => `tag ${tag}`),
    min_score === null || min_score === undefined ? "" : `score ≥ ${min_score}`,
    max_score === null || max_score === undefined ? "" : `score ≤ ${max_score}`,
    ...with_codes.map((code) => `with ${code}`),
    ...without_codes.map((code) => `without ${code}`),
    query ? `words “${query}”` : "",
  ];
  return parts.filter(Boolean).join(", ") || "all";
}
