import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { AnswerChange, DatasetDiff, DiffRow, SplitMove, SplitStatistics } from "../../../api/schema.gen";
import { Bars } from "../../../ui/charts/Bars";
import { Card } from "../../../ui/display/Card";
import { Diff } from "../../../ui/display/Diff";
import { formatNumber } from "../../../ui/display/format";
import { Empty } from "../../../ui/feedback/Empty";
import styles from "../datasets.module.css";
import { type DataColumn, DataTable } from "../DataTable";

const ROW_COLUMNS: readonly DataColumn<DiffRow>[] = [
  {
    header: "Question",
    cell: ({ trace_id, prompt_start }) => (
      <Link to="/traces/$traceId" params={{ traceId: trace_id }}>
        {prompt_start}
      </Link>
    ),
  },
  { header: "Answer", cell: ({ final_answer }) => final_answer },
  { header: "Split", cell: ({ split }) => split },
];

const ANSWER_COLUMNS: readonly DataColumn<AnswerChange>[] = [
  { header: "Question", cell: ({ prompt_start }) => prompt_start },
  {
    header: "Answers before and after",
    cell: ({ base_answers, other_answers }) => (
      <Diff before={base_answers.join(" | ")} after={other_answers.join(" | ")} />
    ),
  },
];

const MOVE_COLUMNS: readonly DataColumn<SplitMove>[] = [
  { header: "Question", cell: ({ prompt_start }) => prompt_start },
  { header: "From", cell: ({ base_split }) => base_split },
  { header: "To", cell: ({ other_split }) => other_split },
];

/** The changes from `base` to `other`: counts, statistics, then the individual changes. */
export function DiffView({ diff }: { diff: DatasetDiff }): ReactElement {
  return (
    <div className={styles.stack}>
      {diff.identical ? (
        <Empty title="The datasets are identical">
          <p>Both contain the same {formatNumber(diff.num_unchanged)} rows in the same splits.</p>
        </Empty>
      ) : (
        <Bars
          title={`From ${diff.base} to ${diff.other}`}
          bars={[
            { label: "= rows unchanged", value: diff.num_unchanged },
            { label: "+ rows added", value: diff.num_added },
            { label: "− rows removed", value: diff.num_removed },
            { label: "≠ questions with changed answers", value: diff.num_answers_changed },
            { label: "⇄ questions that moved to another split", value: diff.num_splits_moved },
          ]}
        />
      )}
      {diff.num_splits_moved > 0 ? (
        <p role="note">
          ⚠ Some questions moved to another split: a model trained on {diff.base} may have seen the held-out questions
          of {diff.other}.
        </p>
      ) : null}
      <StatisticsDiff diff={diff} />
      <Changes title="Rows added" columns={ROW_COLUMNS} rows={diff.added} rowKey={({ trace_id }) => trace_id} />
      <Changes title="Rows removed" columns={ROW_COLUMNS} rows={diff.removed} rowKey={({ trace_id }) => trace_id} />
      <Changes
        title="Questions with changed answers"
        columns={ANSWER_COLUMNS}
        rows={diff.answers_changed}
        rowKey={(_, index) => String(index)}
      />
      <Changes
        title="Questions that moved to another split"
        columns={MOVE_COLUMNS}
        rows={diff.splits_moved}
        rowKey={(_, index) => String(index)}
      />
    </div>
  );
}

interface ChangesProps<Row> {
  title: string;
  columns: readonly DataColumn<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row, index: number) => string;
}

function Changes<Row>({ title, ...table }: ChangesProps<Row>): ReactElement | null {
  if (table.rows.length === 0) return null;
  return (
    <Card title={title}>
      <DataTable name={title} {...table} />
    </Card>
  );
}

interface Line {
  name: string;
  before: number | null | undefined;
  after: number | null | undefined;
}

const QUANTITIES: readonly [string, (split: SplitStatistics | undefined) => number | null | undefined][] = [
  ["rows", (split) => split?.num_rows],
  ["questions", (split) => split?.num_prompts],
  ["steps, mean", (split) => split?.steps?.mean],
  ["characters, median", (split) => split?.chars?.p50],
  ["characters, 95 %", (split) => split?.chars?.p95],
  ["score, mean", (split) => split?.score?.mean],
];

/** The statistics of both datasets by split, with their difference. */
function StatisticsDiff({ diff }: { diff: DatasetDiff }): ReactElement {
  const splits = [...new Set([...Object.keys(diff.base_statistics), ...Object.keys(diff.other_statistics)])];
  const lines = splits.flatMap((split) =>
    QUANTITIES.map(([quantity, read]) => ({
      name: `${split}: ${quantity}`,
      before: read(diff.base_statistics[split]),
      after: read(diff.other_statistics[split]),
    })),
  );
  const columns: readonly DataColumn<Line>[] = [
    { header: "Split and quantity", cell: ({ name }) => name },
    { header: diff.base, isNumber: true, cell: ({ before }) => formatNumber(before, 2) },
    { header: diff.other, isNumber: true, cell: ({ after }) => formatNumber(after, 2) },
    { header: "Difference", isNumber: true, cell: difference },
  ];
  return (
    <Card title="Statistics">
      <DataTable name="Statistics" columns={columns} rows={lines} rowKey={({ name }) => name} />
    </Card>
  );
}

function difference({ before, after }: Line): string {
  if (typeof before !== "number" || typeof after !== "number") return "–";
  if (before === after) return "same";
  return `${after > before ? "+" : "−"}${formatNumber(Math.abs(after - before), 2)}`;
}
