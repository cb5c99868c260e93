import type { DatasetManifest } from "../../../api/schema.gen";
import { asOneOf, asText, searchParams } from "../../../ui/navigation/search";

export const STRATEGIES = ["latest", "random"] as const;
export const DEDUPS = ["none", "exact", "near"] as const;
export const CONTAMINATION = ["refuse", "remove", "allow"] as const;

/** The form as typed, kept in the URL. Multiple values are separated by commas. */
export const buildSearch = searchParams({
  name: asText,
  version: asText,
  query: asText,
  source: asText,
  tags: asText,
  meta: asText,
  min_score: asText,
  max_score: asText,
  codes: asText,
  without_codes: asText,
  limit: asText,
  strategy: asOneOf(STRATEGIES),
  seed: asText,
  splits: asText,
  dedup: asOneOf(DEDUPS),
  near_threshold: asText,
  max_per_prompt: asText,
  contamination: asOneOf(CONTAMINATION),
  parent: asText,
  license: asText,
});

export type BuildForm = ReturnType<typeof buildSearch>;
export type BuildChange = { [Key in keyof BuildForm]: BuildForm[Key] | undefined };

export const DEFAULT_VERSION = "v1";
export const DEFAULT_SPLITS = "train=0.9, validation=0.1";

/** A form with the settings of this dataset, the next version and this dataset as its parent. */
export function nextVersionOf({ dataset_key, spec }: DatasetManifest): BuildForm {
  const { filters = {} } = spec;
  return buildSearch({
    name: spec.dataset_name,
    version: nextVersion(spec.dataset_version ?? DEFAULT_VERSION),
    parent: dataset_key,
    query: filters.query,
    source: filters.source,
    tags: filters.tags?.join(", "),
    meta: pairsText(filters.labels),
    min_score: filters.min_score,
    max_score: filters.max_score,
    codes: filters.with_codes?.join(", "),
    without_codes: filters.without_codes?.join(", "),
    limit: spec.limit,
    strategy: spec.selection_strategy,
    seed: spec.seed,
    splits: pairsText(spec.splits),
    dedup: spec.dedup,
    max_per_prompt: spec.max_per_prompt,
    contamination: spec.remove_contaminated ? "remove" : spec.allow_contamination ? "allow" : undefined,
    license: spec.license,
  });
}

/** `v1` → `v2`; a version that is not a plain number gets the suffix `.1`. */
export function nextVersion(version: string): string {
  const number = /^v(\d+)$/.exec(version)?.[1];
  return number === undefined ? `${version}.1` : `v${Number(number) + 1}`;
}

function pairsText(pairs: Readonly<Record<string, string | number>> = {}): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}
