import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { queueQuery } from "../queries";
import type { QueueState, RunDetail } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { formatTime } from "../../../ui/display/format";
import styles from "./run.module.css";

/** Notices: why the run failed, or why it has not started. */
export function RunNotices({ run }: { run: RunDetail }): ReactElement | null {
  if (run.failure) return <Failure run={run} />;
  return run.status === "queued" && !run.is_held ? <Waiting run={run} /> : null;
}

function Failure({ run }: { run: RunDetail }): ReactElement {
  return (
    <section role="alert" className={styles.failure}>
      <h2>{run.exit_code == null ? "Run failed" : `Run failed with exit code ${run.exit_code}`}</h2>
      <p>{run.failure?.detail}</p>
      <p>Next step: {run.failure?.next_step}</p>
    </section>
  );
}

function Waiting({ run }: { run: RunDetail }): ReactElement | null {
  const queue = useQuery(queueQuery);
  const reason = queue.data && waitReason(run, queue.data);
  if (!reason) return null;
  return (
    <section role="status" className={styles.waiting}>
      <p>{reason.text}</p>
      {reason.command === undefined ? null : <Command>{reason.command}</Command>}
    </section>
  );
}

function waitReason(run: RunDetail, queue: QueueState): { text: string; command?: string } | null {
  if (!queue.workers.some(({ status }) => status === "active"))
    return { text: "No worker is running. Start one:", command: "tunix-rt worker" };
  if (queue.is_paused) return { text: "The queue is paused. Resume it:", command: "tunix-rt queue resume" };
  if (run.not_before != null) return { text: `It will be retried at ${formatTime(run.not_before)}.` };
  return null;
}
