import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { GateCheck } from "../../../api/schema.gen";
import { Interval } from "../../../ui/charts/Interval";
import { Badge } from "../../../ui/display/Badge";
import { formatAgo, formatNumber, formatTime, shortRunName, UNKNOWN } from "../../../ui/display/format";
import { PlainTable, Sentence } from "../../../ui/tables/PlainTable";
import { formatBarePoints, formatP } from "../shared/format";

interface HistoryTableProps {
  checks: readonly GateCheck[];
  /** Shows the baseline of each row, for tables with several baselines. */
  showsBaseline?: boolean;
}

const POINT_SCALE = [-1, 1] as const;

/** The results of a gate with their reasons, newest first. */
export function HistoryTable({ checks, showsBaseline = false }: HistoryTableProps): ReactElement {
  const columns = [
    { header: "Model" },
    { header: "Result" },
    ...(showsBaseline ? [{ header: "Baseline" }] : []),
    { header: "Difference (points)" },
    { header: "Lost / gained" },
    { header: "p-value" },
    { header: "Checked" },
  ];
  const rows = checks.map((check) => ({
    key: `${check.checked_at} ${check.evaluation_id}`,
    cells: cellsOf(check, showsBaseline),
  }));
  return <PlainTable name="Checks" columns={columns} rows={rows} />;
}

function cellsOf(check: GateCheck, showsBaseline: boolean): ReactNode[] {
  const { overall, baseline_name: name } = check;
  return [
    <div key="model">
      <Link
        to="/evaluations/compare"
        search={{ base: check.baseline_evaluation_id, other: check.evaluation_id }}
        title="Compare the two evaluations"
      >
        {shortRunName(check.model_name)}
      </Link>
      <Sentence>{check.reasons.join("; ") || "no rule violated"}</Sentence>
    </div>,
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
        format={formatBarePoints}
        scale={POINT_SCALE}
      />
    ) : (
      UNKNOWN
    ),
    overall ? `${formatNumber(overall.num_lost)} / ${formatNumber(overall.num_gained)}` : UNKNOWN,
    formatP(overall?.p_value),
    <time key="when" dateTime={check.checked_at} title={formatTime(check.checked_at)}>
      {formatAgo(check.checked_at)}
    </time>,
  ];
}

/** The result of a gate check. */
export function PassBadge({ passed }: { passed: boolean }): ReactElement {
  return (
    <Badge kind={passed ? "good" : "bad"} sign={passed ? "✓" : "✗"}>
      {passed ? "pass" : "fail"}
    </Badge>
  );
}
