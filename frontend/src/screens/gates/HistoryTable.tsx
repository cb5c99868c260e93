import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { GateCheck } from "../../api/schema.gen";
import { Interval } from "../../ui/charts/Interval";
import { PlainTable } from "../../ui/evaluations/PlainTable";
import { formatP, formatPoints } from "../../ui/evaluations/words";
import { formatAgo, formatNumber, formatTime, UNKNOWN } from "../../ui/text/format";
import styles from "./gates.module.css";
import { PassBadge } from "./PassBadge";

interface HistoryTableProps {
  checks: readonly GateCheck[];
  /** Where verdicts of several baselines stand together. */
  showsBaseline?: boolean;
}

const POINT_SCALE = [-1, 1] as const;

/** The verdicts that a gate gave, newest first, each with its reasons. */
export function HistoryTable({ checks, showsBaseline = false }: HistoryTableProps): ReactElement {
  const columns = [
    { header: "Model" },
    { header: "Verdict" },
    ...(showsBaseline ? [{ header: "Against" }] : []),
    { header: "Difference" },
    { header: "Lost", align: "end" as const },
    { header: "Gained", align: "end" as const },
    { header: "Chance" },
    { header: "Why" },
    { header: "Checked" },
  ];
  const rows = checks.map((check) => ({
    key: `${check.checked_at} ${check.evaluation_id}`,
    cells: cellsOf(check, showsBaseline),
  }));
  return <PlainTable name="Verdicts" columns={columns} rows={rows} />;
}

function cellsOf(check: GateCheck, showsBaseline: boolean): ReactNode[] {
  const { overall, baseline_name: name } = check;
  return [
    <Link
      key="model"
      to="/evaluations/compare"
      search={{ base: check.baseline_evaluation_id, other: check.evaluation_id }}
      title="Open the flip board of the two"
    >
      {check.model_name}
    </Link>,
    <PassBadge key="verdict" passed={check.passed} />,
    ...(showsBaseline
      ? [
          <Link key="baseline" to="/gates/$name" params={{ name }}>
            {name}
          </Link>,
        ]
      : []),
    overall ? (
      <Interval
        value={overall.difference}
        low={overall.low}
        high={overall.high}
        n={overall.n}
        format={formatPoints}
        scale={POINT_SCALE}
      />
    ) : (
      UNKNOWN
    ),
    formatNumber(overall?.num_lost),
    formatNumber(overall?.num_gained),
    formatP(overall?.p_value),
    <div key="why" className={styles.reasons}>
      {check.reasons.join("; ") || "no rule is broken"}
    </div>,
    <time key="when" dateTime={check.checked_at} title={formatTime(check.checked_at)}>
      {formatAgo(check.checked_at)}
    </time>,
  ];
}
