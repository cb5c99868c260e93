import { expect, test } from "vitest";
import * as text from "./format";

test.each([
  [text.formatNumber(1234567), "1,234,567"],
  [text.formatValue(0.00003214), "3.21e-5"],
  [text.formatValue(1.23456), "1.235"],
  [text.formatValue(0), "0"],
  [text.formatShare(0.974), "97.4 %"],
  [text.formatBytes(5 * 1024 ** 3), "5.00 GiB"],
  [text.formatBytes(12), "12 B"],
  [text.formatDuration(0.42), "0.42 s"],
  [text.formatDuration(42.4), "42 s"],
  [text.formatDuration(125), "2 min 5 s"],
  [text.formatDuration(3_725), "1 h 2 min"],
  [text.formatDuration(90_000), "1 d 1 h"],
  [text.formatCount(0, "run"), "no runs"],
  [text.formatCount(1, "run"), "1 run"],
  [text.formatCount(2_000, "run"), "2,000 runs"],
])("%s is formatted as %s", (written, expected) => {
  expect(written).toBe(expected);
});

test("unknown values are dashes, never zero", () => {
  const { formatBytes, formatDuration, formatNumber, formatShare, formatTime, formatValue, UNKNOWN } = text;
  for (const format of [formatNumber, formatValue, formatShare, formatBytes, formatDuration]) {
    expect([format(null), format(undefined), format(Number.NaN)]).toEqual([UNKNOWN, UNKNOWN, UNKNOWN]);
  }
  expect(formatTime(null)).toBe(UNKNOWN);
});

test("ages are rounded", () => {
  const now = Date.parse("2026-11-15T12:00:00Z");
  const ago = (time: string): string => text.formatAgo(time, now);
  expect([
    ago("2026-11-15T11:59:40Z"),
    ago("2026-11-15T11:30:00Z"),
    ago("2026-11-15T02:00:00Z"),
    ago("2026-11-01T12:00:00Z"),
  ]).toEqual(["just now", "30 min ago", "10 h ago", "14 d ago"]);
});

test("a run name omits the timestamp of its id", () => {
  expect(text.shortRunName("20261115-214717-rate-0-f5af")).toBe("rate-0-f5af");
  expect(text.shortRunName("smoke-1")).toBe("smoke-1");
});
