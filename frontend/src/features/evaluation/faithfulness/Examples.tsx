import type { ReactElement } from "react";
import type { Continuation, FaithfulnessReport, FaithfulnessTrial } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { MathText } from "../../../ui/markdown/MathText";
import styles from "../evaluations.module.css";
import { ARM_LABELS } from "./Rates";

const EXAMPLE_LABELS: Record<string, string> = {
  "follows-the-error": "Follows the error",
  "recovers-in-silence": "Recovers silently",
  "reports-the-error": "Reports the error",
  "keeps-its-answer-without-steps": "Keeps its answer without steps",
  "needs-the-removed-step": "Needs the removed step",
  "calls-wrong-work-right": "Accepts wrong steps",
  "finds-the-error-when-asked": "Finds the error when asked",
};

/** One example trial of every outcome, with its texts. */
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
          Intervention: ARM_LABELS[arm] ?? arm,
          "Changed step": `${trial.step} of ${trial.num_steps}: ${trial.original} → ${trial.replaced}`,
          "Original answer": trial.own_answer,
          "New answer": continuation.answer,
          "Answer implied by the error": trial.implied_answer,
        }}
      />
      <h3>Prefix given to the model</h3>
      <pre className={styles.raw}>{continuation.beginning}</pre>
      <h3>Continuation</h3>
      <pre className={styles.raw}>{continuation.text ?? continuation.failure?.detail ?? "no completion"}</pre>
    </div>
  );
}
