import type { RunAct } from "../queries";
import type { RunDetail } from "../../../api/schema.gen";

export interface OfferedAct {
  act: RunAct;
  label: string;
  meaning: string;
}

const CANCEL: OfferedAct = { act: "cancel", label: "Cancel…", meaning: "Stop it with a checkpoint, for good" };
const PAUSE: OfferedAct = { act: "pause", label: "Pause", meaning: "Stop it with a checkpoint until it is resumed" };
const RESUME: OfferedAct = { act: "resume", label: "Resume", meaning: "Go on from the last checkpoint" };

/** What can be asked of a run as it stands. One that `tunix-rt train` started is stopped where it was started. */
export function actsOn({ status, is_held, executor }: RunDetail): OfferedAct[] {
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

/** The same once more, on the launch screen: as it was asked for, or with the recipe that it resolved to. */
export function launchSearchOf({ run_id, request }: RunDetail): LaunchSearch {
  const { recipe, dataset, target, engine, overrides, name, eval_set, num_smoke_steps } = request;
  // What a file said came with its overrides applied; the resolved recipe has all of it.
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
