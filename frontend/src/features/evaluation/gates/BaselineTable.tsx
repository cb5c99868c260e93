import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { GateCheck, StoredBaseline } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { formatAgo, formatShare, formatTime, shortRunName } from "../../../ui/display/format";
import { PlainTable } from "../../../ui/tables/PlainTable";
import styles from "./gates.module.css";
import { PassBadge } from "./HistoryTable";

const NUM_SHOWN = 12;

interface BaselineTableProps {
  baselines: readonly StoredBaseline[];
  checks: readonly GateCheck[];
}

/** Every baseline with its latest and earlier verdicts. */
export function BaselineTable({ baselines, checks }: BaselineTableProps): ReactElement {
  const columns = ["Gate", "Model", "Eval set", "Accuracy", "Last result", "Earlier", "Created"];
  return (
    <Card title="Baselines">
      <PlainTable
        name="Every baseline"
        columns={columns.map((header) => ({ header }))}
        rows={baselines.map((baseline) => ({
          key: baseline.name,
          cells: cellsOf(
            baseline,
            checks.filter(({ baseline_name }) => baseline_name === baseline.name),
          ),
        }))}
      />
    </Card>
  );
}

function cellsOf(baseline: StoredBaseline, [last, ...earlier]: GateCheck[]): ReactNode[] {
  const { name, evaluation_id: evaluationId, model_name, eval_set, baseline_value, created_at } = baseline;
  return [
    <Link key="name" to="/gates/$name" params={{ name }}>
      {name}
    </Link>,
    <Link key="evaluation" to="/evaluations/$evaluationId" params={{ evaluationId }}>
      {shortRunName(model_name)}
    </Link>,
    eval_set,
    formatShare(baseline_value),
    last === undefined ? "not checked yet" : <PassBadge passed={last.passed} />,
    <EarlierResults key="earlierResults" checks={earlier.slice(0, NUM_SHOWN)} />,
    <time key="set" dateTime={created_at} title={formatTime(created_at)}>
      {formatAgo(created_at)}
    </time>,
  ];
}

/** Earlier results as symbols, newest first. */
function EarlierResults({ checks }: { checks: readonly GateCheck[] }): ReactElement {
  return (
    <ol className={styles.earlierResults}>
      {checks.map(({ passed, checked_at, model_name }) => (
        <li key={checked_at}>
          <span
            role="img"
            aria-label={`${passed ? "pass" : "fail"}: ${model_name}`}
            title={`${model_name}, ${formatTime(checked_at)}`}
          >
            {passed ? "✓" : "✗"}
          </span>
        </li>
      ))}
    </ol>
  );
}
