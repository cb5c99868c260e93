import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactElement, useDeferredValue, useMemo, useState } from "react";
import type { Trace, TraceDetail } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Card } from "../../../ui/display/Card";
import { Diff } from "../../../ui/display/Diff";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import { MathText } from "../../../ui/markdown/MathText";
import { useShortcuts } from "../../../ui/navigation/shortcuts";
import { Page } from "../../../ui/layout/Page";
import { FindingList } from "../parts/FindingList";
import { KeyValueList } from "../parts/KeyValueList";
import { groupFindings } from "../parts/marks";
import { ScoreBadge } from "../parts/ScoreBadge";
import { draftReportQuery } from "../queries";
import { type Draft, numReviewed, repairedTrace, reviewCommand, reviewOf } from "./draft";
import { ReviewedStep } from "./ReviewedStep";
import { type Review, useReview } from "./useReview";
import styles from "./workbench.module.css";

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

/** The final answer, which a review can also change. */
function AnswerCard({ trace, review }: { trace: Trace; review: Review }): ReactElement {
  const [text, setText] = useState(review.draft.answer ?? trace.final_answer);
  return (
    <Card title="Final answer">
      <TextField
        label="Corrected answer"
        help="Change it only if it is wrong."
        value={text}
        onChange={(next) => {
          setText(next);
          review.setAnswer(next);
        }}
      />
      {review.draft.answer === null ? null : <Diff before={trace.final_answer} after={review.draft.answer} />}
    </Card>
  );
}

const KEYS = {
  "j, k": "next step, previous step",
  a: "accept",
  e: "edit",
  x: "reject",
  u: "clear the verdict",
  s: "save",
};

function KeyHelp({ onAcceptRest }: { onAcceptRest: () => void }): ReactElement {
  return (
    <Card title="Keys">
      <KeyValueList entries={KEYS} />
      <div>
        <Button onClick={onAcceptRest}>Accept the rest</Button>
      </div>
    </Card>
  );
}

/** Downloads of all reviews as training data. */
function ReviewExports(): ReactElement {
  return (
    <Card title="Export reviews">
      <p>Every saved review provides training data: the repaired trace, a preference pair and a label for each step.</p>
      <div className={styles.buttons}>
        <a href="/api/traces/revisions/preferences.jsonl" download className={buttonClass()}>
          Download preferences
        </a>
        <a href="/api/traces/revisions/step-labels.jsonl" download className={buttonClass()}>
          Download step labels
        </a>
      </div>
      <Command>tunix-rt traces export-reviews preferences --output preferences.jsonl</Command>
    </Card>
  );
}

/** The linter's score before and after the edits, updated during the review. */
function ReviewedScore({ trace, draft }: { trace: Trace; draft: Draft }): ReactElement {
  const repaired = useDeferredValue(repairedTrace(trace, draft));
  const before = useQuery(draftReportQuery(trace)).data;
  const after = useQuery({
    ...draftReportQuery(repaired ?? trace),
    enabled: repaired !== null,
    placeholderData: (previous) => previous,
  }).data;
  if (repaired === null) {
    return (
      <Card title="Linter">
        <p role="status">Every step is rejected, so nothing would remain. Edit a step, or delete the trace.</p>
      </Card>
    );
  }
  return (
    <Card title="Linter">
      <p className={styles.head}>
        Before <ScoreBadge score={before?.score} /> after <ScoreBadge score={after?.score} />
      </p>
      {after && after.findings.length > 0 ? (
        <>
          <p>Remaining findings:</p>
          <FindingList findings={after.findings} />
        </>
      ) : (
        <p>No findings remain.</p>
      )}
    </Card>
  );
}

interface StepListProps {
  trace: Trace;
  review: Review;
  at: number;
  onMove: (at: number) => void;
}

/** The steps to review, with the linter's findings in the original. */
function StepList({ trace, review, at, onMove }: StepListProps): ReactElement {
  const report = useQuery(draftReportQuery(trace)).data;
  const findings = useMemo(() => groupFindings(trace, report?.findings ?? []).steps, [trace, report]);
  return (
    <ol className={styles.steps} aria-label="Steps to review">
      {trace.steps.map((step, index) => (
        <li key={step.i}>
          <ReviewedStep
            step={step}
            findings={findings.get(step.i) ?? []}
            review={review}
            isCurrent={index === at}
            onPick={() => {
              onMove(index);
            }}
          />
        </li>
      ))}
    </ol>
  );
}
