import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useMemo } from "react";
import type { TraceDetail } from "../../../api/schema.gen";
import { reportQuery } from "../queries";
import { Card } from "../../../ui/display/Card";
import { FindingList } from "../parts/FindingList";
import { MarkedText } from "../parts/MarkedText";
import { groupFindings } from "../parts/marks";
import { stepTitle } from "../parts/stepTitle";
import styles from "./trace.module.css";

/** Prompt, steps and answer, each with what the linter found in it. */
export function TraceText({ trace: { id, payload } }: { trace: TraceDetail }): ReactElement {
  const report = useQuery(reportQuery(id)).data;
  const grouped = useMemo(() => groupFindings(payload, report?.findings ?? []), [payload, report]);
  return (
    <div className={styles.column}>
      <Card title="Prompt">
        <MarkedText text={payload.prompt} findings={grouped.prompt} />
        <FindingList findings={grouped.prompt} />
      </Card>
      <ol className={styles.steps} aria-label="Steps">
        {payload.steps.map((step) => {
          const findings = grouped.steps.get(step.i) ?? [];
          return (
            <li key={step.i}>
              <Card title={stepTitle(step)}>
                <MarkedText text={step.content} findings={findings} />
                <FindingList findings={findings} />
              </Card>
            </li>
          );
        })}
      </ol>
      <Card title="Final answer">
        <MarkedText text={payload.final_answer} findings={grouped.answer} />
        <FindingList findings={grouped.answer} />
      </Card>
    </div>
  );
}
