import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { CheckedEvalSet, ContaminationReport, Overlap } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { formatCount, formatNumber, formatShare } from "../../../ui/display/format";
import styles from "../datasets.module.css";
import { type SmallColumn, SmallTable } from "../SmallTable";

const VERDICTS: Record<ContaminationReport["verdict"], string> = {
  clean: "No row repeats a question of these eval sets.",
  removed: "Rows that repeat a question of an eval set were left out.",
  allowed: "Rows that repeat a question of an eval set were kept on purpose: scores on those sets prove little.",
};

const EVALSETS: readonly SmallColumn<CheckedEvalSet>[] = [
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

const OVERLAPS: readonly SmallColumn<Overlap>[] = [
  {
    header: "Trace",
    cell: ({ trace_id }) => (
      <Link to="/traces/$traceId" params={{ traceId: trace_id }}>
        {trace_id.slice(0, 8)}
      </Link>
    ),
  },
  { header: "Repeats", cell: ({ evalset, item_id }) => `${evalset}/${item_id}` },
  { header: "How", cell: ({ kind }) => kind },
  { header: "Similarity", isNumber: true, cell: ({ similarity }) => formatShare(similarity, 0) },
];

/** What was compared with the eval sets, and what was found. */
export function Contamination({ report }: { report: ContaminationReport }): ReactElement {
  const { evalsets, verdict, num_overlapping_rows, overlaps } = report;
  return (
    <div className={styles.stack}>
      <Card title="Compared with the eval sets">
        {evalsets.length === 0 ? (
          <p>There was no eval set to compare with.</p>
        ) : (
          <>
            <p>{VERDICTS[verdict]}</p>
            <SmallTable name="Eval sets" columns={EVALSETS} rows={evalsets} rowKey={({ name }) => name} />
          </>
        )}
      </Card>
      {overlaps.length === 0 ? null : (
        <Card title="Rows that repeat an eval question">
          <p>
            {formatCount(num_overlapping_rows, "row")}
            {overlaps.length < num_overlapping_rows ? `, the first ${overlaps.length} of them:` : ":"}
          </p>
          <SmallTable name="Overlaps" columns={OVERLAPS} rows={overlaps} rowKey={({ trace_id }) => trace_id} />
        </Card>
      )}
    </div>
  );
}
