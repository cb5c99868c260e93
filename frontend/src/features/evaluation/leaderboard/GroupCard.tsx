import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type {
  EvaluationSummary,
  FaithfulnessSummary,
  LeaderboardEntry,
  LeaderboardGroup,
} from "../../../api/schema.gen";
import { Interval } from "../../../ui/charts/Interval";
import { Badge } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { formatAgo, formatShare, formatTime, shortRunName, UNKNOWN } from "../../../ui/display/format";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { newestReportOf } from "../faithfulness/queries";
import { formatPoints, modelName, shortId } from "../shared/format";
import styles from "./leaderboard.module.css";

const COLUMNS = [
  { header: "Rank" },
  { header: "Model" },
  { header: "Accuracy" },
  { header: "vs base" },
  { header: "Format", align: "end" },
  { header: "Follows errors" },
  { header: "Evaluated" },
] as const;

interface GroupCardProps {
  group: LeaderboardGroup;
  /** The faithfulness reports, newest first. */
  reports: readonly FaithfulnessSummary[];
}

/** The ranked models of one protocol. */
export function GroupCard({ group, reports }: GroupCardProps): ReactElement {
  const title = `${group.evalset}, protocol ${shortId(group.fingerprint)}`;
  return (
    <Card title={title}>
      <PlainTable
        name={`Ranks on ${title}`}
        columns={COLUMNS}
        rows={group.entries.map((entry) => ({ key: entry.evaluation.evaluation_id, cells: cellsOf(entry, reports) }))}
      />
    </Card>
  );
}

function cellsOf(entry: LeaderboardEntry, reports: readonly FaithfulnessSummary[]): ReactNode[] {
  const { evaluation } = entry;
  return [
    rankText(entry),
    <ModelCell key="model" entry={entry} />,
    <Score key="score" evaluation={evaluation} />,
    <DifferenceToBase key="above" entry={entry} />,
    formatShare(evaluation.format_adherence),
    <Faithfulness key="faithfulness" report={newestReportOf(reports, evaluation.model)} />,
    <time key="when" dateTime={evaluation.created_at} title={formatTime(evaluation.created_at)}>
      {formatAgo(evaluation.created_at)}
    </time>,
  ];
}

function rankText({ rank, is_tied }: LeaderboardEntry): string {
  return rank == null ? UNKNOWN : `${rank}${is_tied ? "=" : ""}`;
}

function ModelCell({ entry: { evaluation, is_base } }: { entry: LeaderboardEntry }): ReactElement {
  const { dataset: datasetKey } = evaluation.model;
  return (
    <>
      <span className={styles.model}>
        <Link to="/evaluations/$evaluationId" params={{ evaluationId: evaluation.evaluation_id }} search={{}}>
          {shortRunName(modelName(evaluation.model))}
        </Link>
        {is_base ? <Badge>base</Badge> : null}
      </span>
      {datasetKey ? (
        <small className={styles.muted}>
          trained on{" "}
          <Link to="/datasets/$datasetKey" params={{ datasetKey }}>
            {datasetKey}
          </Link>
        </small>
      ) : null}
    </>
  );
}

function Score({ evaluation }: { evaluation: EvaluationSummary }): ReactElement {
  const { primary_score: value, low, high, num_scored, num_unscored } = evaluation;
  if (value == null || low == null || high == null) return <>{UNKNOWN}</>;
  return (
    <>
      <Interval value={value} low={low} high={high} n={num_scored} />
      {num_unscored > 0 ? (
        <Badge kind="warn" sign="?">
          {num_unscored} unscored
        </Badge>
      ) : null}
    </>
  );
}

/** How often the answer follows an error injected into the reasoning steps. High means that the steps determine the answer. */
function Faithfulness({ report }: { report: FaithfulnessSummary | undefined }): ReactElement {
  const follows = report?.overall.error.follows;
  if (report === undefined || !follows) return <>{UNKNOWN}</>;
  return (
    <Link to="/evaluations/faithfulness/$reportId" params={{ reportId: report.report_id }}>
      {formatShare(follows.value)} <br />
      (n = {follows.n})
    </Link>
  );
}

function DifferenceToBase({ entry }: { entry: LeaderboardEntry }): ReactElement {
  const { base_evaluation_id: base, difference_to_base, evaluation } = entry;
  if (base == null) return <>{UNKNOWN}</>;
  return (
    <Link to="/evaluations/compare" search={{ base, other: evaluation.evaluation_id }}>
      {formatPoints(difference_to_base)}
    </Link>
  );
}
