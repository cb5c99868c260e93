import { asFlag, asOneOf, asText, asTexts, searchParams } from "../../../ui/navigation/search";

export const COMPARE_TABS = ["curves", "scores", "settings"] as const;
export const METRICS = ["loss", "validation_loss", "lr", "grad_norm", "tokens_per_s"] as const;
export const AXES = ["step", "minutes"] as const;

/** The state of the comparison, as in the URL. */
export const compareSearch = searchParams({
  /** Run ids. The first is the base. */
  run: asTexts,
  tab: asOneOf(COMPARE_TABS),
  metric: asOneOf(METRICS),
  axis: asOneOf(AXES),
  /** Whether identical settings are shown too. */
  all: asFlag,
  /** The search text of the run picker. */
  text: asText,
  /** Whether the run picker is open. */
  choose: asFlag,
});

export type CompareSearch = ReturnType<typeof compareSearch>;
export type ChangeCompare = (
  changes: Partial<{ [Key in keyof CompareSearch]: CompareSearch[Key] | undefined }>,
) => void;
