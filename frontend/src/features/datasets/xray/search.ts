import type { XrayQuery } from "../queries";
import { shellQuoted } from "../../../ui/copy/snippets";
import { asCount, asFlag, asOneOf, asText, searchParams } from "../../../ui/navigation/search";

export const MARKUPS = ["reasoning", "counted", "think", "boxed", "hash"] as const;
export const LOSS_ON = ["completion", "all", "prompt"] as const;
const MIN_ROW_LENGTH = 2;

/** The X-ray options and the selected example, as in the URL. */
export const xraySearch = searchParams({
  model: asText,
  template: asText,
  split: asText,
  markup: asOneOf(MARKUPS),
  row_length: asRowLength,
  packed: asFlag,
  index: asCount,
  loss_on: asOneOf(LOSS_ON),
});

export type XraySearch = ReturnType<typeof xraySearch>;

/** The API query, which always requests one example with its row. */
export function queryOf(search: XraySearch): XrayQuery {
  return { index: 0, ...search };
}

/** The equivalent command. */
export function xrayCommand(datasetKey: string, search: XraySearch): string {
  const { packed, ...rest } = queryOf(search);
  const options = Object.entries(rest).map(
    ([name, value]) => `--${name.replaceAll("_", "-")} ${shellQuoted(String(value))}`,
  );
  return ["tunix-rt data xray", datasetKey, ...options, ...(packed ? ["--packed"] : [])].join(" ");
}

/** The equivalent request path. `xray.html` is the report as a standalone page. */
export function xrayPath(datasetKey: string, search: XraySearch, kind: "xray" | "xray.html" = "xray"): string {
  const words = Object.entries(queryOf(search)).map(([name, value]): [string, string] => [name, String(value)]);
  return `/api/datasets/${datasetKey}/${kind}?${new URLSearchParams(words).toString()}`;
}

function asRowLength(raw: unknown): number | undefined {
  const length = asCount(raw);
  return length !== undefined && length >= MIN_ROW_LENGTH ? length : undefined;
}
