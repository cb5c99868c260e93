import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { TraceDetail } from "../../../api/schema.gen";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { useShortcuts } from "../../../ui/navigation/shortcuts";
import { Page } from "../../../ui/Page";
import { Card } from "../../../ui/display/Card";
import { MathText } from "../../../ui/markdown/MathText";
import { AnswerCard } from "./AnswerCard";
import { numReviewed, reviewCommand, reviewOf } from "./draft";
import { KeyHelp } from "./KeyHelp";
import { ReviewExports } from "./ReviewExports";
import { ReviewedScore } from "./ReviewedScore";
import { StepList } from "./StepList";
import styles from "./workbench.module.css";
import { type Review, useReview } from "./useReview";

interface WorkbenchProps {
  trace: TraceDetail;
  /** The index of the current step, counted from 0. */
  at: number;
  onMove: (at: number) => void;
}

/** Accept, edit or reject each step with keys or buttons. Saving creates a new version. */
export function Workbench({ trace, at, onMove }: WorkbenchProps): ReactElement {
  const review = useReview(trace);
  const steps = trace.payload.steps;
  const move = (next: number): void => {
    onMove(Math.max(0, Math.min(next, steps.length - 1)));
  };
  useReviewKeys(review, steps[at]?.i ?? 0, at, move);
  const path = `/api/traces/${trace.id}/revisions`;
  const copied = { cli: reviewCommand(trace.id, review.draft), method: "POST" as const, path };
  return (
    <Page
      title="Review steps"
      aside={<span role="status">{`${numReviewed(review.draft)} of ${steps.length} steps reviewed`}</span>}
      actions={
        <>
          <CopyAs snippets={snippets({ ...copied, body: reviewOf(review.draft) })} />
          <Link to="/traces/$traceId" params={{ traceId: trace.id }} className={buttonClass()}>
            Back to the trace
          </Link>
          <Button kind="primary" disabled={!review.canSave} isBusy={review.isSaving} onClick={review.save}>
            Save as a new version
          </Button>
        </>
      }
    >
      <div className={styles.columns}>
        <div className={styles.column}>
          <Card title="Prompt">
            <MathText text={trace.payload.prompt} />
          </Card>
          <StepList trace={trace.payload} review={review} at={at} onMove={move} />
          <AnswerCard trace={trace.payload} review={review} />
        </div>
        <div className={styles.column}>
          <ReviewedScore trace={trace.payload} draft={review.draft} />
          <KeyHelp onAcceptRest={review.acceptRest} />
          <ReviewExports />
        </div>
      </div>
    </Page>
  );
}

function useReviewKeys(review: Review, i: number, at: number, move: (at: number) => void): void {
  const judgeAndAdvance = (verdict: "accepted" | "rejected"): void => {
    review.setVerdict(i, verdict);
    move(at + 1);
  };
  useShortcuts([
    {
      keys: "j",
      label: "Next step",
      run: () => {
        move(at + 1);
      },
    },
    {
      keys: "k",
      label: "Previous step",
      run: () => {
        move(at - 1);
      },
    },
    {
      keys: "a",
      label: "Accept the step",
      run: () => {
        judgeAndAdvance("accepted");
      },
    },
    {
      keys: "x",
      label: "Reject the step",
      run: () => {
        judgeAndAdvance("rejected");
      },
    },
    {
      keys: "e",
      label: "Edit the step",
      run: () => {
        review.edit(i);
      },
    },
    {
      keys: "u",
      label: "Clear the verdict",
      run: () => {
        review.setVerdict(i, null);
      },
    },
    { keys: "s", label: "Save as a new version", run: review.save },
  ]);
}
