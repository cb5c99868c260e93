import { expect, test } from "@playwright/test";

/** A measurement and its upper limit. */
export interface Measure {
  what: string;
  value: number;
  bar: number;
  unit: "kB" | "ms";
}

export const MEASURE = "measure";

/** Adds a measurement to the table. The command fails if it exceeds its limit, after everything was measured. */
export function report(measure: Measure): void {
  test.info().annotations.push({ type: MEASURE, description: JSON.stringify(measure) });
  expect.soft(measure.value, measure.what).toBeLessThanOrEqual(measure.bar);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
