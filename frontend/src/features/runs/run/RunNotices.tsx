import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { queueQuery } from "../queries";
import type { QueueState, RunDetail } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { formatTime } from "../../../ui/display/format";
import styles from "./run.module.css";

/** What a person must know first: why it failed, or why it does not start. */
export function RunNotices({ run }: { run: RunDetail }): ReactElement | null {
  if (run.failure) return <Failure run={run} />;
  return run.status === "queued" && !run.is_held ? <Waiting run={run} /> : null;
}

function Failure({ run }: { run: RunDetail }): ReactElement {
  return (
    <section role="alert" className={styles.failure}>
      <h2>{run.exit_code == null ? "It failed" : `It failed with exit code ${run.exit_code}`}</h2>
      <p>{run.failure?.detail}</p>
      <p>Next: {run.failure?.next_step}</p>
    </section>
  );
}

function Waiting({ run }: { run: RunDetail }): ReactElement | null {
  const queue = useQuery(queueQuery);
  const reason = queue.data && whyItWaits(run, queue.data);
  if (!reason) return null;
  return (
    <section role="status" className={styles.waiting}>
      <p>{reason.text}</p>
      {reason.command === undefined ? null : <Command>{reason.command}</Command>}
    </section>
  );
}

function whyItWaits(run: RunDetail, queue: QueueState): { text: string; command?: string } | null {
  if (!queue.workers.some(({ status }) => status === "active"))
    return { text: "No worker is there to take it. Start one:", command: "tunix-rt worker" };
  if (queue.is_paused)
    return { text: "The queue is paused: workers take nothing. Let them go on:", command: "tunix-rt queue resume" };
  if (run.not_before != null) return { text: `It is tried again at ${formatTime(run.not_before)}.` };
  return null;
}
