import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useMemo } from "react";
import type { Trace } from "../../../api/schema.gen";
import { draftReportQuery } from "../queries";
import { groupFindings } from "../parts/marks";
import { ReviewedStep } from "./ReviewedStep";
import type { Review } from "./useReview";
import styles from "./workbench.module.css";

interface StepListProps {
  trace: Trace;
  review: Review;
  at: number;
  onMove: (at: number) => void;
}

/** The steps to review, with the linter's findings in the original. */
export function StepList({ trace, review, at, onMove }: StepListProps): ReactElement {
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
