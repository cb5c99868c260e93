import { formatNumber, UNKNOWN } from "../../ui/display/format";

/** How many tokens; texts that something else wrote were not counted. */
export function tokensText(numTokens: number | undefined): string {
  return numTokens ? formatNumber(numTokens) : UNKNOWN;
}
