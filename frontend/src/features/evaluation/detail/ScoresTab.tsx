import type { ReactElement, ReactNode } from "react";
import type { Estimate, Evaluation, GroupScores, Spread } from "../../../api/schema.gen";
import { Bars } from "../../../ui/charts/Bars";
import { Interval } from "../../../ui/charts/Interval";
import { PlainTable, Sentence } from "../../../ui/tables/PlainTable";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatNumber, UNKNOWN } from "../../../ui/display/format";
import styles from "../evaluations.module.css";

/** The scores of an evaluation with n and interval, overall and by group. */
export function ScoresTab({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { overall, by_section, by_category, by_difficulty, failures, rules } = evaluation.scores;
  return (
    <>
      <Card title="Overall">
        <PlainTable
          name="Overall scores"
          columns={[{ header: "Score" }, { header: "Value and 95 % CI" }, { header: "Description" }]}
          rows={scoreRows(overall)}
        />
        <Counts overall={overall} />
      </Card>
      <GroupTable title="By section" groups={by_section} />
      <GroupTable title="By category" groups={by_category} />
      <GroupTable title="By difficulty" groups={by_difficulty} />
      <div className={styles.groups}>
        <CountBars title="Extraction rules used" counts={rules} />
        <CountBars title="Reasons for unscored items" counts={failures} />
      </div>
    </>
  );
}

function Counts({ overall }: { overall: GroupScores }): ReactElement {
  return (
    <Facts
      facts={{
        Items: formatNumber(overall.num_items),
        Completions: formatNumber(overall.num_predictions),
        Unscored: formatNumber(overall.num_unscored),
        "No answer": formatNumber(overall.num_no_answer),
        Truncated: formatNumber(overall.num_cut_off),
        "Lenient extractions": formatNumber(overall.num_lenient),
        "Reasoning steps": spreadText(overall.reasoning_steps),
        "Reasoning tokens": spreadText(overall.reasoning_tokens),
      }}
    />
  );
}

function GroupTable({ title, groups }: { title: string; groups: Record<string, GroupScores> }): ReactElement | null {
  const entries = Object.entries(groups);
  if (entries.length === 0) return null;
  return (
    <Card title={title}>
      <PlainTable
        name={title}
        columns={[{ header: "Group" }, { header: "Accuracy" }, { header: "Items", align: "end" }, { header: "Format" }]}
        rows={entries.map(([name, group]) => ({
          key: name,
          cells: [name, estimate(group.accuracy), formatNumber(group.num_items), estimate(group.format_adherence)],
        }))}
      />
    </Card>
  );
}

function CountBars({ title, counts }: { title: string; counts: Record<string, number> }): ReactElement | null {
  const bars = Object.entries(counts).map(([label, value]) => ({ label, value }));
  return bars.length === 0 ? null : <Bars title={title} bars={bars} />;
}

function scoreRows(overall: GroupScores): { key: string; cells: ReactNode[] }[] {
  const scores: [string, Estimate | null | undefined, string][] = [
    ["Accuracy", overall.accuracy, "over all scored completions"],
    ["Lenient accuracy", overall.lenient_accuracy, "also counts answers without a marker"],
    ["Format adherence", overall.format_adherence, "completions in exactly the trained format"],
    ["Step correctness", overall.step_correctness, "of the steps with checkable arithmetic"],
    ["Correct with wrong steps", overall.right_by_wrong_work, "correct answers that follow a wrong step"],
    ...scoresAtK("pass", overall.pass_at, "at least one of k samples is correct"),
    ...scoresAtK("majority", overall.majority_at, "the most frequent answer of k samples is correct"),
  ];
  return scores.flatMap(([name, value, meaning]) =>
    value ? [{ key: name, cells: [name, estimate(value), <Sentence key="meaning">{meaning}</Sentence>] }] : [],
  );
}

function scoresAtK(name: string, at: GroupScores["pass_at"], meaning: string): [string, Estimate, string][] {
  return Object.entries(at ?? {}).map(([k, value]) => [`${name}@${k}`, value, meaning]);
}

export function estimate(value: Estimate | null | undefined): ReactNode {
  return value ? <Interval value={value.value} low={value.low} high={value.high} n={value.n} /> : UNKNOWN;
}

function spreadText(spread: Spread | null | undefined): string {
  if (!spread) return UNKNOWN;
  return `median ${formatNumber(spread.median, 1)}, p90 ${formatNumber(spread.p90, 1)}`;
}
