import { asCount, asFlag, asNumber, asOneOf, asText, asTexts, searchParams } from "../../../ui/navigation/search";

export const ENGINES = ["auto", "jax", "torch"] as const;
export const DEFAULT_RECIPE = "smoke_tiny";
export const DEFAULT_TARGET = "local";

/** Everything that is chosen, as the URL has it: a plan can be sent to somebody as a link. */
export const launchSearch = searchParams({
  recipe: asText,
  /** A run whose resolved recipe is taken, instead of a named one. */
  from: asText,
  dataset: asText,
  target: asText,
  engine: asOneOf(ENGINES),
  /** How long the session lasts. */
  hours: asNumber,
  /** `key=value` each: what differs from the recipe. */
  set: asTexts,
  name: asText,
  evalset: asText,
  /** End after this many steps. */
  steps: asCount,
  force: asFlag,
});

export type LaunchSearch = ReturnType<typeof launchSearch>;
export type ChangeSearch = (changes: Partial<{ [Key in keyof LaunchSearch]: LaunchSearch[Key] | undefined }>) => void;
