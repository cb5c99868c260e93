import type { ReactElement, ReactNode } from "react";
import type { Estimate, Evaluation, GroupScores, Spread } from "../../../api/schema.gen";
import { Bars } from "../../../ui/charts/Bars";
import { Interval } from "../../../ui/charts/Interval";
import { PlainTable, Sentence } from "../../../ui/tables/PlainTable";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatNumber, UNKNOWN } from "../../../ui/display/format";
import styles from "../evaluations.module.css";

/** The scores of an evaluation, each with its n and interval: overall, then by group. */
export function ScoreSheet({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { overall, by_section, by_category, by_difficulty, failures, rules } = evaluation.scores;
  return (
    <>
      <Card title="Overall">
        <PlainTable
          name="Scores of all items"
          columns={[{ header: "Score" }, { header: "Value and 95 % interval" }, { header: "What it is" }]}
          rows={scoreRows(overall)}
        />
        <Counts overall={overall} />
      </Card>
      <GroupTable title="By section" groups={by_section} />
      <GroupTable title="By category" groups={by_category} />
      <GroupTable title="By difficulty" groups={by_difficulty} />
      <div className={styles.groups}>
        <CountBars title="Rule that found the answer" counts={rules} />
        <CountBars title="Why there is no verdict" counts={failures} />
      </div>
    </>
  );
}

function Counts({ overall }: { overall: GroupScores }): ReactElement {
  return (
    <Facts
      facts={{
        Items: formatNumber(overall.num_items),
        Texts: formatNumber(overall.num_predictions),
        "Without a verdict": formatNumber(overall.num_unscored),
        "Without an answer": formatNumber(overall.num_no_answer),
        "Cut off": formatNumber(overall.num_cut_off),
        "Found by a lenient rule": formatNumber(overall.num_lenient),
        "Steps shown": spreadText(overall.reasoning_steps),
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
        columns={[
          { header: "Group" },
          { header: "Right answers" },
          { header: "Items", align: "end" },
          { header: "In the form" },
        ]}
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
    ["Right answers", overall.accuracy, "over the texts that have a verdict"],
    ["With lenient rules", overall.lenient_accuracy, "also answers that no mark points at"],
    ["In the form", overall.format_adherence, "texts in exactly the form that training teaches"],
    ["Right steps", overall.step_correctness, "of the steps with arithmetic that can be checked"],
    ["Right by wrong work", overall.right_by_wrong_work, "right answers that follow a broken step"],
    ...manySamples("pass", overall.pass_at, "at least one of k samples is right"),
    ...manySamples("majority", overall.majority_at, "the most frequent answer of k samples is right"),
  ];
  return scores.flatMap(([name, value, meaning]) =>
    value ? [{ key: name, cells: [name, estimate(value), <Sentence key="meaning">{meaning}</Sentence>] }] : [],
  );
}

function manySamples(name: string, at: GroupScores["pass_at"], meaning: string): [string, Estimate, string][] {
  return Object.entries(at ?? {}).map(([k, value]) => [`${name}@${k}`, value, meaning]);
}

export function estimate(value: Estimate | null | undefined): ReactNode {
  return value ? <Interval value={value.value} low={value.low} high={value.high} n={value.n} /> : UNKNOWN;
}

function spreadText(spread: Spread | null | undefined): string {
  if (!spread) return UNKNOWN;
  return `median ${formatNumber(spread.median, 1)}, 90 % below ${formatNumber(spread.p90, 1)}`;
}
