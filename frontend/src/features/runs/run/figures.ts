import { isActive } from "../queries";
import type { MetricsLine, Plan, RunDetail } from "../../../api/schema.gen";
import type { LiveRun } from "./live";

const RECENT = 20;
const PREPARING = new Set(["started", "resumed", "device", "plan", "override", "forced"]);

/** The phase of a run as a short text. */
export function phaseOf(run: RunDetail, live: LiveRun): string {
  if (run.status === "queued") return run.is_held ? "paused" : "waiting for a worker";
  if (run.status === "cancelling") return "saving a checkpoint and stopping";
  if (run.status !== "running") return run.status;
  const last = live.events.findLast(({ kind }) => kind !== "warning" && kind !== "checkpoint" && kind !== "best")?.kind;
  if (last === "evaluating" || last === "evaluated") return "evaluating";
  if (last === "exported" || last === "finished") return "saving the model";
  if (last === undefined || last === "claimed" || last === "started")
    return live.steps.length > 0 ? "training" : "starting";
  return live.steps.length === 0 && PREPARING.has(last) ? "preparing" : "training";
}

/** The plan made at submission, which the API stores as JSON. */
export function planOf(run: RunDetail): Plan | null {
  return (run.plan as Plan | null | undefined) ?? null;
}

/** The total number of steps: measured, from the recipe, or planned. */
export function numStepsOf(run: RunDetail): number | null {
  const training = run.recipe.training as { num_steps?: number | null } | undefined;
  return run.figures?.num_planned_steps ?? training?.num_steps ?? planOf(run)?.num_steps ?? null;
}

export function stepOf(run: RunDetail, live: LiveRun): number | null {
  return live.steps.at(-1)?.step ?? run.figures?.num_steps ?? null;
}

/** Seconds per step from the latest metrics. Null until there are two. */
export function stepSeconds(steps: readonly MetricsLine[]): number | null {
  const recent = steps.slice(-RECENT);
  const [first, last] = [recent[0], recent.at(-1)];
  if (first === undefined || last === undefined || last.step === first.step) return null;
  return (Date.parse(last.time) - Date.parse(first.time)) / 1_000 / (last.step - first.step);
}

/** Estimated seconds left. Null if the run is not active or there is no estimate yet. */
export function secondsLeft(run: RunDetail, live: LiveRun): number | null {
  const [total, step, seconds] = [numStepsOf(run), stepOf(run, live), stepSeconds(live.steps)];
  if (run.status !== "running" || total === null || step === null || seconds === null) return null;
  return Math.max(0, total - step) * seconds;
}

/** Seconds from the start of the run to its end, or to now. */
export function secondsTaken(run: RunDetail, now = Date.now()): number | null {
  if (!run.started_at) return null;
  const end = run.finished_at && !isActive(run.status) ? Date.parse(run.finished_at) : now;
  return (end - Date.parse(run.started_at)) / 1_000;
}

/** The last value of a metric that not every line has. */
export function lastOf(
  steps: readonly MetricsLine[],
  key: "tokens_per_s" | "mfu" | "peak_memory_bytes",
): number | null {
  return steps.findLast((line) => line[key] != null)?.[key] ?? null;
}

/** Whether memory is measured per process instead of per device. Without a known peak there is no MFU. */
export function isOnCpu(run: RunDetail, live: LiveRun): boolean {
  if (run.figures?.peak_memory_of != null) return run.figures.peak_memory_of === "process";
  return live.steps.length > 1 && lastOf(live.steps, "mfu") === null;
}
