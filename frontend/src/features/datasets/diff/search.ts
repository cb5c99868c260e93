import { asCount, asText, searchParams } from "../../../ui/navigation/search";

/** With what a dataset is compared, and from which change on; as the URL has it. */
export const diffSearch = searchParams({ other: asText, offset: asCount });

export type DiffSearch = ReturnType<typeof diffSearch>;
