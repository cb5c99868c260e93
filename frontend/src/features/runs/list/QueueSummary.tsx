import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { queueQuery } from "../queries";
import type { QueueState } from "../../../api/schema.gen";
import { Badge } from "../../../ui/display/Badge";
import { formatNumber } from "../../../ui/display/format";

/** The state of the queue: running and queued runs, and whether a worker is active. */
export function QueueSummary(): ReactElement | null {
  const queue = useQuery(queueQuery);
  return queue.data === undefined ? null : <QueueBadges queue={queue.data} />;
}

function QueueBadges({ queue }: { queue: QueueState }): ReactElement {
  const [numQueued, numRunning] = [queue.num_runs.queued ?? 0, queue.num_runs.running ?? 0];
  const hasWorker = queue.workers.some(({ status }) => status === "active");
  return (
    <>
      <Badge kind={numRunning > 0 ? "info" : "neutral"}>{formatNumber(numRunning)} running</Badge>
      <Badge>{formatNumber(numQueued)} queued</Badge>
      {queue.is_paused ? (
        <Badge kind="warn" sign="‖">
          queue paused
        </Badge>
      ) : null}
      {hasWorker ? null : (
        <Badge kind="warn" sign="⚠">
          no active worker
        </Badge>
      )}
    </>
  );
}
