import { asCount, asFlag, asNumber, asOneOf, asText, asTexts, searchParams } from "../../../ui/navigation/search";

export const ENGINES = ["auto", "jax", "torch"] as const;
export const DEFAULT_RECIPE = "smoke_tiny";
export const DEFAULT_TARGET = "local";

/** The launch form as in the URL, so that a plan can be shared as a link. */
export const launchSearch = searchParams({
  recipe: asText,
  /** A run whose resolved recipe is used instead of a named one. */
  from: asText,
  dataset: asText,
  target: asText,
  engine: asOneOf(ENGINES),
  /** The session length. */
  hours: asNumber,
  /** The overrides as `key=value`. */
  set: asTexts,
  name: asText,
  evalset: asText,
  /** Stop after this many steps. */
  steps: asCount,
  force: asFlag,
});

export type LaunchSearch = ReturnType<typeof launchSearch>;
export type ChangeSearch = (changes: Partial<{ [Key in keyof LaunchSearch]: LaunchSearch[Key] | undefined }>) => void;
