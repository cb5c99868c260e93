import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useMemo } from "react";
import type { TraceDetail } from "../../../api/schema.gen";
import { reportQuery } from "../queries";
import { Card } from "../../../ui/display/Card";
import { FindingList } from "../parts/FindingList";
import { MarkedText } from "../parts/MarkedText";
import { placeFindings } from "../parts/marks";
import { stepTitle } from "../parts/stepTitle";
import styles from "./trace.module.css";

/** Prompt, steps and answer, each with what the linter found in it. */
export function TraceText({ trace: { id, payload } }: { trace: TraceDetail }): ReactElement {
  const report = useQuery(reportQuery(id)).data;
  const placed = useMemo(() => placeFindings(payload, report?.findings ?? []), [payload, report]);
  return (
    <div className={styles.column}>
      <Card title="Prompt">
        <MarkedText text={payload.prompt} findings={placed.prompt} />
        <FindingList findings={placed.prompt} />
      </Card>
      <ol className={styles.steps} aria-label="Steps">
        {payload.steps.map((step) => {
          const findings = placed.steps.get(step.i) ?? [];
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
        <MarkedText text={payload.final_answer} findings={placed.answer} />
        <FindingList findings={placed.answer} />
      </Card>
    </div>
  );
}
