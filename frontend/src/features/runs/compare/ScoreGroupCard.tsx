import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { comparisonQuery } from "../../evaluation/queries";
import type { EvaluationSummary } from "../../../api/schema.gen";
import { Interval } from "../../../ui/charts/Interval";
import { PlainTable, Sentence } from "../../../ui/tables/PlainTable";
import { formatBarePoints, shortId, significanceText } from "../../evaluation/shared/words";
import { Card } from "../../../ui/display/Card";
import { UNKNOWN } from "../../../ui/display/format";
import styles from "./compare.module.css";
import type { ComparedRun } from "./comparedRun";
import { RunLegend } from "./RunLegend";
import type { ScoreGroup } from "./scores";

const POINT_SCALE = [-1, 1] as const;

/** The scores of runs with the same eval set and protocol. */
export function ScoreGroupCard({ group, runs }: { group: ScoreGroup; runs: readonly ComparedRun[] }): ReactElement {
  const [base] = group.evaluations;
  return (
    <Card title={`Scores on ${group.evalset}`}>
      <p className={styles.muted}>
        Protocol {shortId(group.fingerprint)}: the newest evaluation of each run with this protocol.
      </p>
      <PlainTable
        name={`Scores on ${group.evalset}, protocol ${shortId(group.fingerprint)}`}
        columns={[
          { header: "Run" },
          { header: "Accuracy" },
          { header: "vs base (points)" },
          { header: "Significance" },
          { header: "Items" },
        ]}
        rows={group.evaluations.map((evaluation) => ({
          key: evaluation.evaluation_id,
          cells: [
            <RunOf key="run" evaluation={evaluation} runs={runs} />,
            scoreOf(evaluation),
            ...(base === undefined || base === evaluation
              ? ["base", "", itemsLink(evaluation)]
              : changeCells(base, evaluation)),
          ],
        }))}
      />
    </Card>
  );
}

function RunOf({ evaluation, runs }: { evaluation: EvaluationSummary; runs: readonly ComparedRun[] }): ReactElement {
  const runId = evaluation.model.run_id ?? "";
  return <RunLegend runId={runId} index={runs.find(({ run }) => run.run_id === runId)?.index ?? 0} />;
}

function scoreOf({ primary_score, low, high, num_scored }: EvaluationSummary): ReactNode {
  if (primary_score == null || low == null || high == null) return UNKNOWN;
  return <Interval value={primary_score} low={low} high={high} n={num_scored} />;
}

function itemsLink({ evaluation_id }: EvaluationSummary): ReactElement {
  return (
    <Link to="/evaluations/$evaluationId" params={{ evaluationId: evaluation_id }}>
      Open evaluation
    </Link>
  );
}

function changeCells(base: EvaluationSummary, other: EvaluationSummary): ReactNode[] {
  const pair = { base: base.evaluation_id, other: other.evaluation_id };
  return [
    <OverrideRow key="difference" {...pair} />,
    <Chance key="chance" {...pair} />,
    <Link key="flips" to="/evaluations/compare" search={pair}>
      {" "}
      Compare items{" "}
    </Link>,
  ];
}

interface Pair {
  base: string;
  other: string;
}

function OverrideRow({ base, other }: Pair): ReactElement {
  const { data, isError } = useQuery(comparisonQuery(base, other, false));
  const paired = data?.overall;
  if (paired == null) return <span>{isError || data ? UNKNOWN : "…"}</span>;
  const { difference, low, high, n } = paired;
  return <Interval value={difference} low={low} high={high} n={n} format={formatBarePoints} scale={POINT_SCALE} />;
}

function Chance({ base, other }: Pair): ReactElement {
  const { data, error } = useQuery(comparisonQuery(base, other, false));
  return <Sentence>{error?.message ?? (data?.overall ? significanceText(data.overall) : UNKNOWN)}</Sentence>;
}
