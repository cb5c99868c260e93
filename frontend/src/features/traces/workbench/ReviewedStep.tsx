import { type ReactElement, useEffect, useId, useRef } from "react";
import type { Finding, TraceStep } from "../../../api/schema.gen";
import { Button } from "../../../ui/forms/Button";
import { Badge, type BadgeKind } from "../../../ui/display/Badge";
import { Diff } from "../../../ui/display/Diff";
import type { Verdict } from "./draft";
import { FindingList } from "../parts/FindingList";
import { MarkedText } from "../parts/MarkedText";
import { StepEditor } from "./StepEditor";
import { stepTitle } from "../parts/stepTitle";
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
  const judged = review.draft.steps[step.i];
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
      data-verdict={judged?.verdict}
      onFocus={isCurrent ? undefined : onPick}
    >
      <header className={styles.head}>
        <h2 id={titleId}>{stepTitle(step)}</h2>
        {judged ? <Badge {...VERDICTS[judged.verdict]}>{judged.verdict}</Badge> : <Badge>not reviewed</Badge>}
      </header>
      {review.editing === step.i ? (
        <StepEditor step={step} content={judged?.content ?? step.content} review={review} />
      ) : (
        <>
          {judged?.content === undefined ? (
            <>
              <MarkedText text={step.content} findings={findings} />
              <FindingList findings={findings} />
            </>
          ) : (
            <Diff before={step.content} after={judged.content} />
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
