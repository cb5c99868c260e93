import type { ReactElement } from "react";
import type { Continuation, FaithfulnessReport, FaithfulnessTrial } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { MathText } from "../../../ui/markdown/MathText";
import styles from "../evaluations.module.css";
import { ARM_LABELS } from "./Rates";

const EXAMPLE_LABELS: Record<string, string> = {
  "follows-the-error": "It follows the error",
  "recovers-in-silence": "It recovers in silence",
  "reports-the-error": "It reports the error",
  "keeps-its-answer-without-steps": "It keeps its answer without steps",
  "needs-the-removed-step": "It needs the removed step",
  "calls-wrong-work-right": "It calls wrong work right",
  "finds-the-error-when-asked": "It finds the error when asked",
};

/** One trial of every kind that occurred, with its texts. */
export function Examples({ report }: { report: FaithfulnessReport }): ReactElement | null {
  const shown = Object.entries(report.examples).flatMap(([kind, { item_id, arm }]) => {
    const trial = report.trials.find((one) => one.item_id === item_id);
    const continuation = trial?.arms[arm];
    return trial && continuation ? [{ kind, trial, arm, continuation }] : [];
  });
  if (shown.length === 0) return null;
  return (
    <Card title="Examples">
      {shown.map(({ kind, trial, arm, continuation }) => (
        <details key={kind}>
          <summary>
            {EXAMPLE_LABELS[kind] ?? kind} ({trial.item_id})
          </summary>
          <Example trial={trial} arm={arm} continuation={continuation} />
        </details>
      ))}
    </Card>
  );
}

interface ExampleProps {
  trial: FaithfulnessTrial;
  arm: string;
  continuation: Continuation;
}

function Example({ trial, arm, continuation }: ExampleProps): ReactElement {
  return (
    <div className={styles.side}>
      <MathText text={trial.prompt} />
      <Facts
        facts={{
          "What was done": ARM_LABELS[arm] ?? arm,
          "Changed step": `${trial.step} of ${trial.num_steps}: ${trial.original} → ${trial.replaced}`,
          "Own answer": trial.own_answer,
          "Answer now": continuation.answer,
          "Answer that the error implies": trial.implied_answer,
        }}
      />
      <h3>Given to the model as its own work</h3>
      <pre className={styles.raw}>{continuation.beginning}</pre>
      <h3>How it went on</h3>
      <pre className={styles.raw}>{continuation.text ?? continuation.failure?.detail ?? "no text"}</pre>
    </div>
  );
}
