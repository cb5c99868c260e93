import { asCount, asFlag, asNumber, asOneOf, asText, asTexts, searchParams } from "../../ui/navigation/search";

export const METRICS = ["validation_loss", "loss", "score"] as const;
export const SAMPLERS = ["tpe", "random", "grid"] as const;
export const PRUNERS = ["none", "median", "hyperband"] as const;
export const JOB_TABS = ["trials", "importances", "best", "spec"] as const;

/** The view state of a sweep. */
export const jobSearch = searchParams({
  tab: asOneOf(JOB_TABS),
  /** The number of the highlighted trial. */
  trial: asCount,
  /** Column of the table. */
  sort: asText,
  descending: asFlag,
});
export type JobSearch = ReturnType<typeof jobSearch>;

/** The form of a new sweep, kept in the URL. */
export const newSweepSearch = searchParams({
  name: asText,
  recipe: asText,
  /** The sweep whose inline recipe is used, unless another is selected. */
  like: asText,
  dataset: asText,
  /** `key=value` each, for every trial. */
  set: asTexts,
  /** `training.learning_rate=loguniform(0.0003, 0.03)` each. */
  space: asTexts,
  metric: asOneOf(METRICS),
  evalset: asText,
  sampler: asOneOf(SAMPLERS),
  pruner: asOneOf(PRUNERS),
  trials: asCount,
  minutes: asNumber,
  parallel: asCount,
});
export type NewSweepSearch = ReturnType<typeof newSweepSearch>;

export type Changes<Search> = Partial<{ [Key in keyof Search]: Search[Key] | undefined }>;
export type Change<Search> = (changes: Changes<Search>) => void;
