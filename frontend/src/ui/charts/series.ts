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

/** The dash of a series: colour alone tells nothing to who does not see it. */
export function seriesDash(index: number): number[] {
  const turn = index + Math.floor(index / NUM_COLOURS);
  return DASHES[turn % DASHES.length] ?? [];
}

/**
 * An exponential moving average without the bias of its start; gaps stay gaps.
 *
 * @param weight how much of the past stays, from 0 (none) to below 1
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

/** Columns over one common x axis, as a chart wants them; what a series has no value for is a gap. */
export function aligned(series: readonly Series[]): (number | null)[][] {
  const [first, ...rest] = series;
  if (first === undefined) return [[]];
  const isShared = rest.every(({ xs }) => xs.length === first.xs.length && xs.every((x, i) => x === first.xs[i]));
  if (isShared) return [[...first.xs], ...series.map(({ ys }) => [...ys])];
  const xs = [...new Set(series.flatMap((one) => one.xs as number[]))].sort((a, b) => a - b);
  const places = new Map(xs.map((x, index) => [x, index]));
  const columns = series.map((one) => {
    const column = new Array<number | null>(xs.length).fill(null);
    one.xs.forEach((x, index) => {
      column[places.get(x) ?? 0] = one.ys[index] ?? null;
    });
    return column;
  });
  return [xs, ...columns];
}
