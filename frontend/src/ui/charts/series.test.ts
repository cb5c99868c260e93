import { expect, test } from "vitest";
import { aligned, seriesColour, seriesDash, smoothed } from "./series";

test("smoothing is debiased and keeps gaps", () => {
  expect(smoothed([4, 4, null, 4], 0.9)).toEqual([4, 4, null, 4]);
  const [first, second] = smoothed([0, 1], 0.5);
  expect([first, second?.toFixed(4)]).toEqual([0, "0.6667"]);
  expect(smoothed([1, 2], 0)).toEqual([1, 2]);
});

test("series with equal steps share an axis", () => {
  const xs = [1, 2];
  expect(
    aligned([
      { name: "a", xs, ys: [1, 2] },
      { name: "b", xs, ys: [3, 4] },
    ]),
  ).toEqual([xs, [1, 2], [3, 4]]);
});

test("series with different steps are aligned with gaps", () => {
  const series = [
    { name: "a", xs: [1, 3], ys: [10, 30] },
    { name: "b", xs: [2, 3], ys: [20, 31] },
  ];
  expect(aligned(series)).toEqual([
    [1, 2, 3],
    [10, null, 30],
    [null, 20, 31],
  ]);
  expect(aligned([])).toEqual([[]]);
});

test("sixteen series have distinct styles", () => {
  const lineStyles = Array.from({ length: 16 }, (_, index) => `${seriesColour(index)} ${seriesDash(index).join(" ")}`);
  expect(new Set(lineStyles).size).toBe(16);
});
