import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { AnswerChange, DatasetDiff, DiffRow, SplitMove } from "../../../api/schema.gen";
import { Bars } from "../../../ui/charts/Bars";
import { Empty } from "../../../ui/feedback/Empty";
import { Card } from "../../../ui/display/Card";
import { Diff } from "../../../ui/display/Diff";
import { formatNumber } from "../../../ui/display/format";
import styles from "../datasets.module.css";
import { type DataColumn, DataTable } from "../DataTable";
import { StatisticsDiff } from "./StatisticsDiff";

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
