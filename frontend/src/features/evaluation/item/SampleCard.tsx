import type { ReactElement } from "react";
import type { CheckedStep, Prediction } from "../../../api/schema.gen";
import { Badge, type BadgeKind } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { UNKNOWN } from "../../../ui/display/format";
import { MathText } from "../../../ui/markdown/MathText";
import styles from "../evaluations.module.css";
import { VerdictBadge } from "../shared/VerdictBadge";
import { tokensText } from "../shared/format";

const STEP_LOOKS: Record<CheckedStep["verdict"], { kind: BadgeKind; sign: string; label: string }> = {
  confirmed: { kind: "good", sign: "✓", label: "arithmetic correct" },
  broken: { kind: "bad", sign: "✗", label: "arithmetic wrong" },
  unchecked: { kind: "neutral", sign: "·", label: "not checkable" },
};
const RULE_MEANINGS: Record<string, string> = {
  "answer-tag": "the text between <answer> and </answer>",
  "after-think": "what follows </think>",
  boxed: "the content of \\boxed{}",
  hash: "what follows ####",
  "answer-phrase": "a phrase such as “the answer is” (lenient)",
  "last-number": "the last number of the text (lenient)",
};

/** One completion for an item, and how it was scored. */
export function SampleCard({ prediction, isOnly }: { prediction: Prediction; isOnly: boolean }): ReactElement {
  const { generation, judgement, expected_answer } = prediction;
  return (
    <Card title={isOnly ? "Completion" : `Sample ${(prediction.sample ?? 0) + 1}`}>
      <p className={styles.row}>
        <VerdictBadge verdict={judgement.verdict} />
        <span>{judgement.explanation}</span>
        {judgement.is_well_formed ? null : (
          <Badge kind="warn" sign="⚠">
            not in the trained format
          </Badge>
        )}
        {generation.finish === "cut-off" ? (
          <Badge kind="warn" sign="⚠">
            truncated
          </Badge>
        ) : null}
      </p>
      <Facts
        facts={{
          "Extracted answer": judgement.answer == null ? null : <MathText text={judgement.answer} />,
          "Expected answer": <MathText text={expected_answer} />,
          "Extraction rule": judgement.rule ? `${judgement.rule}: ${RULE_MEANINGS[judgement.rule] ?? ""}` : null,
          Checker: judgement.checker,
          "Completion tokens": tokensText(generation.num_new_tokens),
          "Reasoning tokens": tokensText(generation.num_reasoning_tokens),
        }}
      />
      <Steps steps={judgement.steps ?? []} />
      <RawCompletion prediction={prediction} />
    </Card>
  );
}

function Steps({ steps }: { steps: readonly CheckedStep[] }): ReactElement {
  if (steps.length === 0) return <p className={styles.muted}>No reasoning steps.</p>;
  return (
    <>
      <h3>Reasoning steps</h3>
      <ol className={styles.steps}>
        {steps.map(({ text, verdict }, index) => {
          const { kind, sign, label } = STEP_LOOKS[verdict];
          return (
            <li key={index} className={styles.step} data-verdict={verdict}>
              <MathText text={text} />
              <Badge kind={kind} sign={sign}>
                {label}
              </Badge>
            </li>
          );
        })}
      </ol>
    </>
  );
}

function RawCompletion({ prediction: { generation } }: { prediction: Prediction }): ReactElement {
  if (generation.text == null) {
    return (
      <p>
        No completion: {generation.failure?.detail ?? UNKNOWN} ({generation.failure?.code ?? UNKNOWN}).
      </p>
    );
  }
  return (
    <details>
      <summary>Raw completion</summary>
      <pre className={styles.raw}>{generation.text}</pre>
    </details>
  );
}
