import { asOneOf, asText, searchParams } from "../../../ui/navigation/search";

export const DATASET_TABS = ["statistics", "rows", "origin", "contamination"] as const;
export type DatasetTab = (typeof DATASET_TABS)[number];

/** What of the dataset is shown, as the URL has it. */
export const datasetSearch = searchParams({ tab: asOneOf(DATASET_TABS), split: asText });

export type DatasetSearch = ReturnType<typeof datasetSearch>;
