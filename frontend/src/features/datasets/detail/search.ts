import { asOneOf, asText, searchParams } from "../../../ui/navigation/search";

export const DATASET_TABS = ["statistics", "rows", "origin", "contamination"] as const;
export type DatasetTab = (typeof DATASET_TABS)[number];

/** The selected tab and split, as in the URL. */
export const datasetSearch = searchParams({ tab: asOneOf(DATASET_TABS), split: asText });

export type DatasetSearch = ReturnType<typeof datasetSearch>;
