import type { NewTuningJob, SweepSpec } from "../../../api/schema.gen";
import type { NewSweepSearch } from "../search";

type Parameter = SweepSpec["search_space"][string];
export type ParameterType = Parameter["type"];
export const PARAMETER_TYPES = ["loguniform", "uniform", "lograndint", "randint", "choice"] as const;

/** One parameter of the search space as typed. It may be incomplete. */
export interface Searched {
  key: string;
  type: ParameterType;
  /** For a choice, all values comma-separated. For a range, its minimum and maximum. */
  values: string[];
}

/** An inline recipe stored in the sweep. */
export type OwnRecipe = Exclude<SweepSpec["recipe"], string>;

export const DEFAULT_RECIPE = "demo";
export const DEFAULT_NUM_TRIALS = 8;
const DEFAULT_SPACE = ["training.learning_rate=loguniform(0.0003, 0.03)"];

/** The search space in the URL. */
export function searchedOf({ space = DEFAULT_SPACE }: NewSweepSearch): Searched[] {
  return space.map((text) => {
    const [, key = text, type = "", inside = ""] = /^(.*?)=(\w+)\((.*)\)$/s.exec(text) ?? [];
    const known = PARAMETER_TYPES.find((one) => one === type) ?? "loguniform";
    return { key, type: known, values: known === "choice" ? [inside] : rangeOf(inside) };
  });
}

export function searchedText({ key, type, values }: Searched): string {
  return `${key}=${type}(${values.join(", ")})`;
}

function rangeOf(inside: string): string[] {
  const [min = "", max = ""] = inside.split(",").map((text) => text.trim());
  return [min, max];
}

/** The form as a request. The server reports missing values. */
export function jobOf(search: NewSweepSearch, own?: OwnRecipe): NewTuningJob {
  const { metric = "validation_loss", sampler = "tpe", pruner = "none", parallel = 1 } = search;
  const trials = search.trials ?? (search.minutes === undefined && sampler !== "grid" ? DEFAULT_NUM_TRIALS : undefined);
  return {
    name: search.name ?? "sweep",
    recipe: search.recipe ?? own ?? DEFAULT_RECIPE,
    ...(search.dataset !== undefined && { dataset_key: search.dataset }),
    ...(search.set !== undefined && { overrides: search.set }),
    search_space: Object.fromEntries(searchedOf(search).map((one) => [one.key.trim(), parameterOf(one)])),
    metric_name: metric,
    ...(search.evalset !== undefined && { eval_set: search.evalset }),
    ...(trials !== undefined && { num_samples: trials }),
    ...(search.minutes !== undefined && { device_minutes: search.minutes }),
    max_concurrent_trials: parallel,
    sampler,
    pruner,
  };
}

function parameterOf({ type, values }: Searched): Parameter {
  if (type === "choice") return { type, values: choicesOf(values[0] ?? "") };
  const [min, max] = values.map(Number);
  return { type, min: min ?? Number.NaN, max: max ?? Number.NaN };
}

/** `8, 16, [q, v]` → numbers, words and lists, as YAML reads them. */
export function choicesOf(text: string): unknown[] {
  const parts = text.match(/\[[^\]]*\]|[^,[\]]+/g) ?? [];
  return parts.map((part) => part.trim()).flatMap((part) => (part === "" ? [] : [valueOf(part)]));
}

function valueOf(text: string): unknown {
  if (text.startsWith("[") && text.endsWith("]")) return choicesOf(text.slice(1, -1));
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The first missing input, or null. */
export function problemOf(search: NewSweepSearch): string | null {
  const searched = searchedOf(search);
  if (search.name === undefined) return "Enter a name.";
  if (searched.length === 0) return "Add a setting to the search space.";
  const empty = searched.find(({ key, values }) => key.trim() === "" || values.some((value) => value.trim() === ""));
  return empty === undefined ? null : `Enter the values for ${empty.key.trim() || "the unnamed setting"}.`;
}

/** The sweep as a YAML file for the command line. JSON in braces is valid YAML. */
export function specText(job: NewTuningJob): string {
  const budget = { num_trials: job.num_samples, device_minutes: job.device_minutes };
  const lines: [string, unknown][] = [
    ["name", job.name],
    ["recipe", job.recipe],
    ["dataset", job.dataset_key],
    ["overrides", job.overrides],
    ["metric", job.metric_name],
    ["eval_set", job.eval_set],
    ["sampler", job.sampler],
    ["pruner", job.pruner],
    ["budget", Object.values(budget).every((limit) => limit == null) ? undefined : budget],
    ["max_concurrent", job.max_concurrent_trials],
  ];
  const given = lines.filter(([, value]) => value != null).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  const space = Object.entries(job.search_space).map(([key, one]) => `  ${key}: ${JSON.stringify(one)}`);
  return [...given, "search_space:", ...space, ""].join("\n");
}

/** The form of a new sweep like this one. */
export function searchOf(spec: SweepSpec, jobId: string): NewSweepSearch {
  const space = Object.entries(spec.search_space).map(([key, parameter]) =>
    searchedText({ key, type: parameter.type, values: textsOf(parameter) }),
  );
  return {
    name: spec.name,
    space,
    ...(typeof spec.recipe === "string" ? { recipe: spec.recipe } : { like: jobId }),
    ...(spec.dataset != null && { dataset: spec.dataset }),
    ...(spec.overrides?.length && { set: spec.overrides }),
    ...(spec.metric !== undefined && { metric: spec.metric }),
    ...(spec.eval_set != null && { evalset: spec.eval_set }),
    ...(spec.sampler !== undefined && { sampler: spec.sampler }),
    ...(spec.pruner !== undefined && { pruner: spec.pruner }),
    ...(spec.budget?.num_trials != null && { trials: spec.budget.num_trials }),
    ...(spec.budget?.device_minutes != null && { minutes: spec.budget.device_minutes }),
    ...(spec.max_concurrent !== undefined && { parallel: spec.max_concurrent }),
  };
}

function textsOf(parameter: Parameter): string[] {
  if (parameter.type !== "choice") return [String(parameter.min), String(parameter.max)];
  return [parameter.values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ")];
}
