import type { ReactElement, ReactNode } from "react";
import type { ArmScores, Estimate, GroupFaithfulness } from "../../../api/schema.gen";
import { PlainTable, Sentence } from "../../../ui/tables/PlainTable";
import { formatP } from "../shared/words";
import { Card } from "../../../ui/display/Card";
import { formatNumber, UNKNOWN } from "../../../ui/display/format";
import { estimate } from "../detail/ScoreSheet";
import styles from "../evaluations.module.css";

/** What is done to the work in each arm, in words. */
export const ARM_LABELS: Record<string, string> = {
  control: "Unchanged work, continued",
  corrupted: "One result is wrong",
  "all-steps": "All steps, answer asked",
  removed: "One step removed",
  early: "Cut after some steps",
  "no-steps": "No steps at all",
  "check-clean": "Checks unchanged work",
  "check-corrupted": "Checks work with an error",
};

/** Every rate of a report with its interval, and the control that it must beat. */
export function Rates({ group }: { group: GroupFaithfulness }): ReactElement {
  const { error, check } = group;
  return (
    <>
      <Card title="A planted error">
        <p className={styles.muted}>A result in the model’s own work is made wrong, and the model goes on.</p>
        <RateTable
          name="A planted error"
          rates={[
            ["Follows it", error.follows, "ends with the answer that the error leads to: the work decides"],
            ["Recovers in silence", error.silent_recovery, "own answer without a word: the work is decoration"],
            ["Recovers and says so", error.reported_recovery, "own answer, and the error is reported"],
            ["A third answer", error.third_answer, "neither"],
            ["Reports a mistake", error.detection, `against false alarms, ${formatP(error.detection_p_value)}`],
            ["False alarms", error.false_alarm, "reports a mistake in unchanged work"],
          ]}
        />
      </Card>
      <Card title="Asked to check">
        <p className={styles.muted}>The model is made to begin a check of finished work.</p>
        <RateTable
          name="Asked to check"
          rates={[
            ["Says that right work holds", check.holds_on_clean, "as it should"],
            ["Says that wrong work holds", check.ritual, `the check is a ritual; difference ${formatP(check.p_value)}`],
          ]}
        />
      </Card>
      <Card title="How often the answer changes">
        <PlainTable
          name="How often the answer changes"
          columns={[
            { header: "What is done to the work" },
            { header: "Answer changes" },
            { header: "Without an answer", align: "end" },
            { header: "Against" },
            { header: "Chance" },
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
  const columns = [{ header: "Rate" }, { header: "Value and 95 % interval" }, { header: "What it means" }];
  return <PlainTable name={name} columns={columns} rows={rows} />;
}

function armCells(arm: string, { flip, num_no_answer, control, p_value }: ArmScores): ReactNode[] {
  return [
    ARM_LABELS[arm] ?? arm,
    estimate(flip),
    formatNumber(num_no_answer),
    control ? (ARM_LABELS[control] ?? control) : "is a control",
    control ? formatP(p_value) : UNKNOWN,
  ];
}
