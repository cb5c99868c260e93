import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { EvaluationSummary, RunDetail } from "../../../api/schema.gen";
import { Interval } from "../../../ui/charts/Interval";
import { Command } from "../../../ui/copy/Command";
import { Card } from "../../../ui/display/Card";
import {
  formatBytes,
  formatDuration,
  formatNumber,
  formatShare,
  formatValue,
  UNKNOWN,
} from "../../../ui/display/format";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { PlainTable, Sentence } from "../../../ui/tables/PlainTable";
import { comparisonQuery, runEvaluationsQuery } from "../../evaluation/queries";
import { formatBarePoints, shortId, significanceText } from "../../evaluation/shared/format";
import styles from "./compare.module.css";
import { type ComparedRun, RunLegend } from "./RunLegend";

/** The final metrics of the runs and the scores of their models. */
export function ScoresTab({ runs }: { runs: readonly ComparedRun[] }): ReactElement {
  return (
    <>
      <MetricsCard runs={runs} />
      <Scores runs={runs} />
    </>
  );
}

function Scores({ runs }: { runs: readonly ComparedRun[] }): ReactElement {
  const runIds = runs.map(({ run }) => run.run_id);
  const found = useQueries({ queries: runIds.map(runEvaluationsQuery) });
  const failed = found.find(({ isError }) => isError);
  if (failed?.error) return <ErrorNotice error={failed.error} onRetry={() => void failed.refetch()} />;
  if (found.some(({ isPending }) => isPending)) return <Loading what="Loading evaluations…" />;
  const evaluations = found.flatMap(({ data }) => data?.data ?? []);
  const without = runIds.filter((_, index) => found[index]?.data?.data.length === 0);
  return (
    <>
      {scoreGroups(runIds, evaluations).map((group) => (
        <ScoreGroupCard key={`${group.evalset} ${group.fingerprint}`} group={group} runs={runs} />
      ))}
      {without.length === 0 ? null : <NotEvaluated runIds={without} />}
    </>
  );
}

function NotEvaluated({ runIds }: { runIds: readonly string[] }): ReactElement {
  return (
    <Card title="Not evaluated">
      <p>
        {formatNumber(runIds.length)} of these runs {runIds.length === 1 ? "has" : "have"} no score. The loss measures
        the fit to the data; a score measures what the model can do:
      </p>
      <Command>{`tunix-rt eval ${runIds[0] ?? "RUN"} --eval-set eval_v2`}</Command>
    </Card>
  );
}

/** The training metrics of the runs. */
function MetricsCard({ runs }: { runs: readonly ComparedRun[] }): ReactElement {
  return (
    <Card title="Training metrics">
      <PlainTable
        name="Metrics"
        columns={[
          { header: "Run" },
          { header: "Status" },
          { header: "Steps", align: "end" },
          { header: "Loss", align: "end" },
          { header: "Best validation loss", align: "end" },
          { header: "Tokens/s", align: "end" },
          { header: "MFU", align: "end" },
          { header: "Peak memory", align: "end" },
          { header: "Duration", align: "end" },
        ]}
        rows={runs.map(({ run, index }) => ({
          key: run.run_id,
          cells: [<RunLegend key="run" runId={run.run_id} index={index} />, ...metricCells(run)],
        }))}
      />
    </Card>
  );
}

function metricCells(run: RunDetail): ReactNode[] {
  const { figures } = run;
  return [
    <StatusBadge key="status" status={run.status} isHeld={run.is_held} />,
    figures ? `${formatNumber(figures.num_steps)} / ${formatNumber(figures.num_planned_steps)}` : UNKNOWN,
    formatValue(figures?.final_loss),
    formatValue(figures?.best_validation_loss ?? figures?.validation_loss),
    formatNumber(figures?.tokens_per_s),
    formatShare(figures?.mfu),
    formatBytes(figures?.peak_memory_bytes),
    formatDuration(secondsOf(run)),
  ];
}

function secondsOf({ started_at, finished_at }: RunDetail): number | null {
  return started_at && finished_at ? (Date.parse(finished_at) - Date.parse(started_at)) / 1_000 : null;
}

export interface ScoreGroup {
  evalset: string;
  /** Only evaluations with the same fingerprint are comparable. */
  fingerprint: string;
  /** The newest evaluation of each run, in the order of the runs. */
  evaluations: EvaluationSummary[];
}

/** Groups evaluations by eval set and protocol, largest groups first. */
function scoreGroups(runIds: readonly string[], evaluations: readonly EvaluationSummary[]): ScoreGroup[] {
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

const POINT_SCALE = [-1, 1] as const;

/** The scores of runs with the same eval set and protocol. */
function ScoreGroupCard({ group, runs }: { group: ScoreGroup; runs: readonly ComparedRun[] }): ReactElement {
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
      Compare items
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
