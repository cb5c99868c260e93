import type { Bin } from "../../../api/schema.gen";
import { formatNumber, formatValue } from "../../../ui/display/format";

interface Bar {
  label: string;
  value: number;
}

/** Bins of integers: `3`, or `200–399`. */
export function integerBars(bins: readonly Bin[]): Bar[] {
  return bins.map(({ low, high, count }) => ({
    label: high - low === 1 ? formatNumber(low) : `${formatNumber(low)}–${formatNumber(high - 1)}`,
    value: count,
  }));
}

/** Bins of a score: `90 to 95`. The maximum score has its own bin. */
export function scoreBars(bins: readonly Bin[]): Bar[] {
  return bins.map(({ low, high, count }) => ({
    label: low === 100 ? "100" : `${formatValue(low)} to ${formatValue(high)}`,
    value: count,
  }));
}

/** Names by frequency, in the server's order. */
export function labelBars(counts: Readonly<Record<string, number>>): Bar[] {
  return Object.entries(counts).map(([label, value]) => ({ label, value }));
}
