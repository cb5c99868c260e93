import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { GateCheck } from "../../../api/schema.gen";
import { Interval } from "../../../ui/charts/Interval";
import { PlainTable, Sentence } from "../../../ui/tables/PlainTable";
import { formatBarePoints, formatP } from "../shared/words";
import { formatAgo, formatNumber, formatTime, UNKNOWN } from "../../../ui/display/format";
import { shortRunName } from "../../../ui/display/names";
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
    { header: "Difference, in points" },
    { header: "Lost and gained" },
    { header: "Chance" },
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
    <div key="model">
      <Link
        to="/evaluations/compare"
        search={{ base: check.baseline_evaluation_id, other: check.evaluation_id }}
        title="Open the flip board of the two"
      >
        {shortRunName(check.model_name)}
      </Link>
      <Sentence>{check.reasons.join("; ") || "no rule is broken"}</Sentence>
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
    overall ? `${formatNumber(overall.num_lost)} and ${formatNumber(overall.num_gained)}` : UNKNOWN,
    formatP(overall?.p_value),
    <time key="when" dateTime={check.checked_at} title={formatTime(check.checked_at)}>
      {formatAgo(check.checked_at)}
    </time>,
  ];
}
