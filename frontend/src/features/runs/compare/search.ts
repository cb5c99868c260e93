import { asFlag, asOneOf, asText, asTexts, searchParams } from "../../../ui/navigation/search";

export const COMPARE_TABS = ["curves", "scores", "settings"] as const;
export const METRICS = ["loss", "validation_loss", "lr", "grad_norm", "tokens_per_s"] as const;
export const AXES = ["step", "minutes"] as const;

/** What is compared and how, as the URL has it. */
export const compareSearch = searchParams({
  /** Ids; the first is the base. */
  run: asTexts,
  tab: asOneOf(COMPARE_TABS),
  metric: asOneOf(METRICS),
  axis: asOneOf(AXES),
  /** Every setting, not only those that differ. */
  all: asFlag,
  /** What the list to choose from is filtered by. */
  text: asText,
  /** Whether the list to choose from is shown. */
  choose: asFlag,
});

export type CompareSearch = ReturnType<typeof compareSearch>;
export type ChangeCompare = (
  changes: Partial<{ [Key in keyof CompareSearch]: CompareSearch[Key] | undefined }>,
) => void;
