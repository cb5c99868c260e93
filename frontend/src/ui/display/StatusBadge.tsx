import type { ReactElement } from "react";
import type { Run } from "../../api/schema.gen";
import { Badge, type BadgeKind } from "./Badge";

export type RunStatus = Run["status"];
export const RUN_STATUSES = [
  "queued",
  "running",
  "cancelling",
  "cancelled",
  "failed",
  "succeeded",
] as const satisfies RunStatus[];

const STYLES: Record<RunStatus, [BadgeKind, string]> = {
  queued: ["neutral", "◌"],
  running: ["info", "▶"],
  cancelling: ["warn", "◼"],
  cancelled: ["neutral", "◼"],
  failed: ["bad", "✕"],
  succeeded: ["good", "✓"],
};

/** The status of a run. A held run is paused until it is resumed. */
export function StatusBadge({ status, isHeld = false }: { status: RunStatus; isHeld?: boolean }): ReactElement {
  const [kind, sign] = STYLES[status];
  const isPaused = isHeld && status === "queued";
  return (
    <Badge kind={isPaused ? "warn" : kind} sign={isPaused ? "‖" : sign}>
      {isPaused ? "paused" : status}
    </Badge>
  );
}
