import { type KeyboardEvent, type ReactElement, useEffect, useId, useRef, useState } from "react";
import type { Finding, TraceStep } from "../../../api/schema.gen";
import { Badge, type BadgeKind } from "../../../ui/display/Badge";
import { Diff } from "../../../ui/display/Diff";
import { Button } from "../../../ui/forms/Button";
import { TextArea } from "../../../ui/forms/TextArea";
import { FindingList } from "../parts/FindingList";
import { MarkedText } from "../parts/MarkedText";
import { stepTitle } from "../parts/labels";
import type { Verdict } from "./draft";
import type { Review } from "./useReview";
import styles from "./workbench.module.css";

interface ReviewedStepProps {
  step: TraceStep;
  findings: readonly Finding[];
  review: Review;
  isCurrent: boolean;
  onPick: () => void;
}

const VERDICTS: Record<Verdict, { kind: BadgeKind; sign: string }> = {
  accepted: { kind: "good", sign: "✓" },
  edited: { kind: "info", sign: "✎" },
  rejected: { kind: "bad", sign: "✗" },
};

/** One step with its verdict and the buttons to set it. */
export function ReviewedStep({ step, findings, review, isCurrent, onPick }: ReviewedStepProps): ReactElement {
  const reviewed = review.draft.steps[step.i];
  const titleId = useId();
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isCurrent) card.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  return (
    <section
      ref={card}
      className={styles.step}
      aria-labelledby={titleId}
      aria-current={isCurrent ? "step" : undefined}
      data-verdict={reviewed?.verdict}
      onFocus={isCurrent ? undefined : onPick}
    >
      <header className={styles.head}>
        <h2 id={titleId}>{stepTitle(step)}</h2>
        {reviewed ? <Badge {...VERDICTS[reviewed.verdict]}>{reviewed.verdict}</Badge> : <Badge>not reviewed</Badge>}
      </header>
      {review.editing === step.i ? (
        <StepEditor step={step} content={reviewed?.content ?? step.content} review={review} />
      ) : (
        <>
          {reviewed?.content === undefined ? (
            <>
              <MarkedText text={step.content} findings={findings} />
              <FindingList findings={findings} />
            </>
          ) : (
            <Diff before={step.content} after={reviewed.content} />
          )}
          <VerdictButtons step={step} review={review} />
        </>
      )}
    </section>
  );
}

function VerdictButtons({ step, review }: { step: TraceStep; review: Review }): ReactElement {
  const verdict = review.draft.steps[step.i]?.verdict;
  const press = (given: Verdict): void => {
    review.setVerdict(step.i, verdict === given ? null : given);
  };
  return (
    <div className={styles.buttons}>
      <Button
        aria-pressed={verdict === "accepted"}
        onClick={() => {
          press("accepted");
        }}
      >
        Accept
      </Button>
      <Button
        aria-pressed={verdict === "edited"}
        onClick={() => {
          review.edit(step.i);
        }}
      >
        Edit
      </Button>
      <Button
        aria-pressed={verdict === "rejected"}
        onClick={() => {
          press("rejected");
        }}
      >
        Reject
      </Button>
    </div>
  );
}

interface StepEditorProps {
  step: TraceStep;
  content: string;
  review: Review;
}

/** Editor for the text of a step. Ctrl+Enter saves the edit, Escape cancels. */
function StepEditor({ step, content, review }: StepEditorProps): ReactElement {
  const [text, setText] = useState(content);
  const save = (): void => {
    review.setVerdict(step.i, "edited", text);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape") review.edit(null);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
  };
  return (
    <>
      <TextArea
        label={`Corrected text of step ${step.i}`}
        help="Ctrl+Enter saves the edit, Escape cancels."
        // The editor opens because the user asked to type here.
        // eslint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        rows={Math.min(12, text.split("\n").length + 2)}
        value={text}
        onChange={setText}
        onKeyDown={onKey}
      />
      <div className={styles.buttons}>
        <Button onClick={save}>Save edit</Button>
        <Button
          kind="quiet"
          onClick={() => {
            review.edit(null);
          }}
        >
          Cancel
        </Button>
      </div>
    </>
  );
}
