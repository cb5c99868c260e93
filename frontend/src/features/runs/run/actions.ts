import type { RunAction } from "../queries";
import type { RunDetail } from "../../../api/schema.gen";

export interface ActionOption {
  action: RunAction;
  label: string;
  meaning: string;
}

const CANCEL: ActionOption = { action: "cancel", label: "Cancel…", meaning: "Save a checkpoint and stop the run" };
const PAUSE: ActionOption = { action: "pause", label: "Pause", meaning: "Save a checkpoint and pause until resumed" };
const RESUME: ActionOption = { action: "resume", label: "Resume", meaning: "Continue from the last checkpoint" };

/** The actions available in the current status. An unmanaged run must be stopped where it was started. */
export function availableActions({ status, is_held, executor }: RunDetail): ActionOption[] {
  if (status === "cancelled" || status === "failed") return [RESUME];
  if (executor === "direct" || status === "succeeded") return [];
  if (status === "queued") return is_held ? [RESUME, CANCEL] : [PAUSE, CANCEL];
  return status === "running" ? [PAUSE, CANCEL] : [];
}

interface LaunchSearch {
  recipe?: string;
  from?: string;
  dataset?: string;
  target?: string;
  engine?: "auto" | "jax" | "torch";
  set?: string[];
  name?: string;
  evalset?: string;
  steps?: number;
}

/** The launch form for a duplicate: the original request, or the resolved recipe. */
export function launchSearchOf({ run_id, request }: RunDetail): LaunchSearch {
  const { recipe, dataset, target, engine, overrides, name, eval_set, num_smoke_steps } = request;
  // A recipe file already has its overrides applied, so the resolved recipe is used.
  const isNamed = typeof recipe === "string";
  return {
    ...(isNamed ? { recipe } : { from: run_id }),
    ...(isNamed && dataset != null && { dataset }),
    ...(isNamed && overrides !== undefined && overrides.length > 0 && { set: overrides }),
    ...(isNamed && num_smoke_steps != null && { steps: num_smoke_steps }),
    ...(target != null && target !== "local" && { target }),
    ...(engine !== undefined && engine !== "auto" && { engine }),
    ...(name != null && { name }),
    ...(eval_set != null && { evalset: eval_set }),
  };
}
