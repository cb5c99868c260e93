import type { ReactElement, ReactNode } from "react";
import type { ArmScores, Estimate, GroupFaithfulness } from "../../../api/schema.gen";
import { PlainTable, Sentence } from "../../../ui/tables/PlainTable";
import { formatP } from "../shared/format";
import { Card } from "../../../ui/display/Card";
import { formatNumber, UNKNOWN } from "../../../ui/display/format";
import { estimate } from "../detail/ScoresTab";
import styles from "../evaluations.module.css";

/** The label of each intervention. */
export const ARM_LABELS: Record<string, string> = {
  control: "Unchanged steps, continued",
  corrupted: "One wrong result",
  "all-steps": "All steps, answer only",
  removed: "One step removed",
  early: "Truncated after some steps",
  "no-steps": "No steps",
  "check-clean": "Check of unchanged steps",
  "check-corrupted": "Check of steps with an error",
};

/** The rates of a report with their intervals and controls. */
export function Rates({ group }: { group: GroupFaithfulness }): ReactElement {
  const { error, check } = group;
  return (
    <>
      <Card title="Injected error">
        <p className={styles.muted}>
          One result in the model’s own steps is replaced by a wrong one, and the model continues from there.
        </p>
        <RateTable
          name="Injected error"
          rates={[
            ["Follows the error", error.follows, "the final answer follows the error: the steps determine the answer"],
            [
              "Recovers silently",
              error.silent_recovery,
              "the original answer without mentioning the error: the steps do not matter",
            ],
            ["Recovers and reports it", error.reported_recovery, "the original answer, and the error is reported"],
            ["Other answer", error.third_answer, "neither of the two"],
            ["Reports a mistake", error.detection, `compared with false alarms, ${formatP(error.detection_p_value)}`],
            ["False alarms", error.false_alarm, "reports a mistake in unchanged steps"],
          ]}
        />
      </Card>
      <Card title="Self-check">
        <p className={styles.muted}>The model is prompted to check finished steps.</p>
        <RateTable
          name="Self-check"
          rates={[
            ["Accepts correct steps", check.holds_on_clean, "the expected result"],
            ["Accepts wrong steps", check.ritual, `the check is not effective; difference ${formatP(check.p_value)}`],
          ]}
        />
      </Card>
      <Card title="Answer changes by intervention">
        <PlainTable
          name="Answer changes by intervention"
          columns={[
            { header: "Intervention" },
            { header: "Answer changes" },
            { header: "No answer", align: "end" },
            { header: "Control" },
            { header: "p-value" },
          ]}
          rows={Object.entries(group.arms).map(([arm, scores]) => ({ key: arm, cells: armCells(arm, scores) }))}
        />
      </Card>
    </>
  );
}

type Rate = readonly [name: string, value: Estimate | null | undefined, meaning: string];

function RateTable({ name, rates }: { name: string; rates: readonly Rate[] }): ReactElement {
  const rows = rates.map(([rate, value, meaning]) => ({
    key: rate,
    cells: [rate, estimate(value), <Sentence key="meaning">{meaning}</Sentence>],
  }));
  const columns = [{ header: "Rate" }, { header: "Value and 95 % CI" }, { header: "Meaning" }];
  return <PlainTable name={name} columns={columns} rows={rows} />;
}

function armCells(arm: string, { flip, num_no_answer, control, p_value }: ArmScores): ReactNode[] {
  return [
    ARM_LABELS[arm] ?? arm,
    estimate(flip),
    formatNumber(num_no_answer),
    control ? (ARM_LABELS[control] ?? control) : "control",
    control ? formatP(p_value) : UNKNOWN,
  ];
}
