import type { PlanRequest, PlanTarget, RunRequest } from "../../../api/schema.gen";
import { shellQuoted } from "../../../ui/copy/snippets";
import { DEFAULT_RECIPE, DEFAULT_TARGET, type LaunchSearch } from "./search";

export type RecipeValues = Exclude<RunRequest["recipe"], string>;

const HOUR_S = 3_600;
/** The fraction of a session available for training; the rest is for loading and saving the model. */
const TRAINING_SHARE = 0.9;

/** The run request of the form. `values` is the recipe of a source run. */
export function runRequest(search: LaunchSearch, platform: PlanTarget["platform"], values?: RecipeValues): RunRequest {
  const target = search.target ?? DEFAULT_TARGET;
  return {
    recipe: values ?? search.recipe ?? DEFAULT_RECIPE,
    target,
    ...(target !== DEFAULT_TARGET && { device: platform }),
    ...(search.set && { overrides: search.set }),
    ...(search.dataset !== undefined && { dataset: search.dataset }),
    ...(search.engine !== undefined && { engine: search.engine }),
    ...(search.name !== undefined && { name: search.name }),
    ...(search.evalset !== undefined && { eval_set: search.evalset }),
    ...(search.steps ? { num_smoke_steps: search.steps } : {}),
    ...(search.force && { is_forced: true }),
  };
}

/** The plan request for a run, with the session time. */
export function planRequest(request: RunRequest, hours: number | undefined): PlanRequest {
  // The name and the force flag do not affect the plan.
  const asked = { ...request };
  delete asked.name;
  delete asked.is_forced;
  return hours !== undefined && hours > 0 ? { ...asked, session_seconds: hours * HOUR_S } : asked;
}

/** The equivalent command. An unnamed recipe is downloaded from its run. */
export function submitCommand(request: RunRequest, from: string | undefined, origin = location.origin): string {
  const file = `${from ?? "run"}.json`;
  const fetched = from === undefined ? "" : `curl -so ${file} ${origin}/api/tunix/runs/${from}/artifacts/${RESOLVED}\n`;
  const recipe = typeof request.recipe === "string" ? request.recipe : file;
  const options: [string, string | number | null | undefined][] = [
    ["--dataset", request.dataset],
    ["--target", request.target],
    ["--device", request.device],
    ["--engine", request.engine],
    ["--name", request.name],
    ["--eval-set", request.eval_set],
    ["--smoke-steps", request.num_smoke_steps],
    ...(request.overrides ?? []).map((change): [string, string] => ["--set", change]),
  ];
  const words = options.flatMap(([name, value]) => (value == null ? [] : [name, shellQuoted(String(value))]));
  const command = ["tunix-rt runs submit", shellQuoted(recipe), ...words, ...(request.is_forced ? ["--force"] : [])];
  return fetched + command.join(" ");
}

const RESOLVED = "recipe.resolved.json/download";

/** `training.remat=block` → `training.remat` */
export function keyOf(change: string): string {
  return change.slice(0, Math.max(change.indexOf("="), 0)).trim();
}

/** Adds settings. The last one with the same key wins. */
export function withSettings(sets: readonly string[], more: readonly string[]): string[] {
  return [...new Map([...sets, ...more].map((change) => [keyOf(change), change])).values()];
}

/** `--set a=1 --set b=2` → `a=1` and `b=2` */
export function changesOf(options: string): string[] {
  return options.split(/(?:^|\s)--set\s+/).filter((change) => change !== "");
}

/** Settings that make the training fit into its session. */
export function shorterTraining(stepSeconds: number, sessionSeconds: number, hasEpochs: boolean): string[] {
  const numSteps = Math.max(1, Math.floor((sessionSeconds * TRAINING_SHARE) / stepSeconds));
  return [`training.num_steps=${numSteps}`, ...(hasEpochs ? ["training.num_epochs=null"] : [])];
}
