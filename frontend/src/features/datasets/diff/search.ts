import { asCount, asText, searchParams } from "../../../ui/navigation/search";

/** The dataset to compare with and the page offset, as in the URL. */
export const diffSearch = searchParams({ other: asText, offset: asCount });

export type DiffSearch = ReturnType<typeof diffSearch>;
