export interface Series {
  name: string;
  /** Ascending. */
  xs: readonly number[];
  ys: readonly (number | null)[];
}

const NUM_COLOURS = 8;
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/** The colour of a series, as a CSS variable. */
export function seriesColour(index: number): string {
  return `var(--series-${(index % NUM_COLOURS) + 1})`;
}

/** The dash pattern of a series, so that curves differ by more than colour. */
export function seriesDash(index: number): number[] {
  const dashIndex = index + Math.floor(index / NUM_COLOURS);
  return DASHES[dashIndex % DASHES.length] ?? [];
}

/**
 * A debiased exponential moving average. Gaps stay gaps.
 *
 * @param weight the weight of past values, from 0 (none) to below 1
 */
export function smoothed(ys: readonly (number | null)[], weight: number): (number | null)[] {
  if (weight <= 0) return [...ys];
  let [sum, total] = [0, 0];
  return ys.map((y) => {
    if (y === null || !Number.isFinite(y)) return null;
    sum = weight * sum + (1 - weight) * y;
    total = weight * total + (1 - weight);
    return sum / total;
  });
}

/** The series as columns over a common x axis. Missing values are null. */
export function aligned(series: readonly Series[]): (number | null)[][] {
  const [first, ...rest] = series;
  if (first === undefined) return [[]];
  const isShared = rest.every(({ xs }) => xs.length === first.xs.length && xs.every((x, i) => x === first.xs[i]));
  if (isShared) return [[...first.xs], ...series.map(({ ys }) => [...ys])];
  const xs = [...new Set(series.flatMap((one) => one.xs as number[]))].sort((a, b) => a - b);
  const positions = new Map(xs.map((x, index) => [x, index]));
  const columns = series.map((one) => {
    const column = new Array<number | null>(xs.length).fill(null);
    one.xs.forEach((x, index) => {
      column[positions.get(x) ?? 0] = one.ys[index] ?? null;
    });
    return column;
  });
  return [xs, ...columns];
}
