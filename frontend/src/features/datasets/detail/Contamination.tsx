import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { CheckedEvalSet, ContaminationReport, Overlap } from "../../../api/schema.gen";
import { Badge } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { formatCount, formatNumber, formatShare } from "../../../ui/display/format";
import styles from "../datasets.module.css";
import { type DataColumn, DataTable } from "../DataTable";

const VERDICTS: Record<ContaminationReport["verdict"], string> = {
  clean: "No row repeats a question of these eval sets.",
  removed: "Rows that repeat a question of an eval set were removed.",
  allowed:
    "Rows that repeat a question of an eval set were kept on purpose. Scores on those sets are not meaningful evidence.",
};

const EVALSETS: readonly DataColumn<CheckedEvalSet>[] = [
  { header: "Eval set", cell: ({ name }) => name },
  { header: "Questions", isNumber: true, cell: ({ num_items }) => formatNumber(num_items) },
  {
    header: "SHA-256",
    cell: ({ sha256 }) => (
      <span className={styles.hash} title={sha256}>
        {sha256.slice(0, 12)}
      </span>
    ),
  },
];

const OVERLAPS: readonly DataColumn<Overlap>[] = [
  {
    header: "Trace",
    cell: ({ trace_id }) => (
      <Link to="/traces/$traceId" params={{ traceId: trace_id }}>
        {trace_id.slice(0, 8)}
      </Link>
    ),
  },
  { header: "Repeats", cell: ({ evalset, item_id }) => `${evalset}/${item_id}` },
  { header: "Match", cell: ({ kind }) => kind },
  { header: "Similarity", isNumber: true, cell: ({ similarity }) => formatShare(similarity, 0) },
];

/** The eval sets that were checked, and the overlapping rows. */
export function Contamination({ report }: { report: ContaminationReport }): ReactElement {
  const { evalsets, verdict, num_overlapping_rows, overlaps } = report;
  return (
    <div className={styles.stack}>
      <Card title="Eval set check">
        {evalsets.length === 0 ? (
          <p>There was no eval set to check against.</p>
        ) : (
          <>
            <p>{VERDICTS[verdict]}</p>
            <DataTable name="Eval sets" columns={EVALSETS} rows={evalsets} rowKey={({ name }) => name} />
          </>
        )}
      </Card>
      {overlaps.length === 0 ? null : (
        <Card title="Rows that repeat an eval question">
          <p>
            {formatCount(num_overlapping_rows, "row")}
            {overlaps.length < num_overlapping_rows ? `, showing the first ${overlaps.length}:` : ":"}
          </p>
          <DataTable name="Overlaps" columns={OVERLAPS} rows={overlaps} rowKey={({ trace_id }) => trace_id} />
        </Card>
      )}
    </div>
  );
}

/** The result of the eval set check. */
export function ContaminationBadge({ verdict }: Pick<ContaminationReport, "verdict">): ReactElement {
  if (verdict === "allowed") {
    return (
      <Badge kind="warn" sign="!">
        contains eval questions
      </Badge>
    );
  }
  return (
    <Badge kind="good" sign="✓">
      {verdict === "clean" ? "no eval questions" : "eval questions removed"}
    </Badge>
  );
}
