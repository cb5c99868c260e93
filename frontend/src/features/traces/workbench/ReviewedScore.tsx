import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useDeferredValue } from "react";
import type { Trace } from "../../../api/schema.gen";
import { draftReportQuery } from "../queries";
import { Card } from "../../../ui/display/Card";
import { type Draft, repairedTrace } from "./draft";
import { FindingList } from "../parts/FindingList";
import { ScoreBadge } from "../parts/ScoreBadge";
import styles from "./workbench.module.css";

/** The linter's score before and after the edits, updated during the review. */
export function ReviewedScore({ trace, draft }: { trace: Trace; draft: Draft }): ReactElement {
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
