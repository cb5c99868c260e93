import { formatNumber, UNKNOWN } from "../../ui/display/format";

/** The number of tokens. External predictions are not counted. */
export function tokensText(numTokens: number | undefined): string {
  return numTokens ? formatNumber(numTokens) : UNKNOWN;
}
