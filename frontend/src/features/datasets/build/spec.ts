import type { DatasetSpec } from "../../../api/schema.gen";
import { shellQuoted } from "../../../ui/copy/snippets";
import { type BuildForm, DEFAULT_SPLITS, DEFAULT_VERSION } from "./form";

export type BuildErrors = { [Key in keyof BuildForm]?: string };

const NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/;
const VERSION = /^v[0-9][a-z0-9._]{0,30}$/;
const SPLIT = /^[a-z][a-z0-9_]{0,31}$/;

/** The errors of the form by field. Empty if it can be built. */
export function errorsOf(form: BuildForm): BuildErrors {
  const errors: BuildErrors = {
    name: form.name && !NAME.test(form.name) ? "Use lower-case letters, digits, '.', '_' and '-', e.g. gsm8k." : "",
    version: form.version && !VERSION.test(form.version) ? "Use v and a number, e.g. v2." : "",
    meta: pairError(form.meta),
    min_score: rangeError(form.min_score, 0, 100),
    max_score: rangeError(form.max_score, 0, 100),
    limit: integerError(form.limit, 1),
    seed: integerError(form.seed, 0),
    max_per_prompt: integerError(form.max_per_prompt, 1),
    near_threshold: rangeError(form.near_threshold, 0.5, 1),
    splits: splitError(form.splits ?? DEFAULT_SPLITS),
  };
  return Object.fromEntries(Object.entries(errors).filter(([, error]) => error !== ""));
}

/** The spec of the form. Absent values use the server's defaults. */
export function specOf(form: BuildForm): DatasetSpec {
  return {
    dataset_name: form.name ?? "unnamed",
    dataset_version: form.version ?? DEFAULT_VERSION,
    filters: {
      ...optional("query", form.query),
      ...optional("source", form.source),
      ...optional("min_score", numberOf(form.min_score)),
      ...optional("max_score", numberOf(form.max_score)),
      labels: Object.fromEntries(pairsOf(form.meta)),
      tags: listOf(form.tags),
      with_codes: listOf(form.codes),
      without_codes: listOf(form.without_codes),
    },
    ...optional("limit", numberOf(form.limit)),
    ...optional("selection_strategy", form.strategy),
    ...optional("seed", numberOf(form.seed)),
    splits: Object.fromEntries(pairsOf(form.splits ?? DEFAULT_SPLITS).map(([name, share]) => [name, Number(share)])),
    ...optional("dedup", form.dedup),
    ...optional("near_threshold", form.dedup === "near" ? numberOf(form.near_threshold) : undefined),
    ...optional("max_per_prompt", numberOf(form.max_per_prompt)),
    ...(form.contamination === "remove" && { remove_contaminated: true }),
    ...(form.contamination === "allow" && { allow_contamination: true }),
    ...optional("parent_dataset_key", form.parent),
    ...optional("license", form.license),
  };
}

/** The equivalent command. */
export function buildCommand(form: BuildForm): string {
  const options: [string, string | undefined][] = [
    ["name", form.name ?? "NAME"],
    ["version", form.version],
    ["query", form.query],
    ["source", form.source],
    ...listOf(form.tags).map((tag): [string, string] => ["tag", tag]),
    ...listOf(form.meta).map((pair): [string, string] => ["meta", pair]),
    ["min-score", form.min_score],
    ["max-score", form.max_score],
    ...listOf(form.codes).map((code): [string, string] => ["code", code]),
    ...listOf(form.without_codes).map((code): [string, string] => ["without-code", code]),
    ["limit", form.limit],
    ["strategy", form.strategy],
    ["seed", form.seed],
    ...listOf(form.splits).map((split): [string, string] => ["split", split]),
    ["dedup", form.dedup],
    ["near-threshold", form.dedup === "near" ? form.near_threshold : undefined],
    ["max-per-prompt", form.max_per_prompt],
    ["parent", form.parent],
    ["license", form.license],
  ];
  const words = options.flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${shellQuoted(value)}`]));
  const flags = { refuse: [], remove: ["--remove-contaminated"], allow: ["--allow-contamination"] };
  return ["tunix-rt data build", ...words, ...flags[form.contamination ?? "refuse"]].join(" ");
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined): Partial<Record<Key, Value>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, Value>);
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function listOf(text = ""): string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);
}

function pairsOf(text: string | undefined): [string, string][] {
  return listOf(text).map((pair) => {
    const [name = "", ...value] = pair.split("=");
    return [name.trim(), value.join("=").trim()];
  });
}

function pairError(text: string | undefined): string {
  const bad = pairsOf(text).find(([name, value]) => name === "" || value === "");
  return bad === undefined ? "" : "Use key=value, e.g. category=algebra.";
}

function rangeError(text: string | undefined, low: number, high: number): string {
  const value = numberOf(text);
  return value === undefined || (value >= low && value <= high) ? "" : `Enter a number from ${low} to ${high}.`;
}

function integerError(text: string | undefined, low: number): string {
  const value = numberOf(text);
  return value === undefined || (Number.isInteger(value) && value >= low)
    ? ""
    : `Enter a whole number of at least ${low}.`;
}

function splitError(text: string): string {
  const pairs = pairsOf(text);
  const isBad = pairs.some(([name, share]) => !SPLIT.test(name) || !(Number(share) > 0));
  if (pairs.length === 0 || isBad) return "Use name=fraction, e.g. train=0.9, validation=0.1.";
  const sum = pairs.reduce((total, [, share]) => total + Number(share), 0);
  return Math.abs(sum - 1) > 1e-6 ? `The fractions must sum to 1, not ${Number(sum.toPrecision(4))}.` : "";
}
