/** Formats numbers, times and sizes with their unit. Unknown values are "–". */

export const UNKNOWN = "–";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;

type Maybe<Value> = Value | null | undefined;

/** `12345` → `12,345`; at most `digits` decimals. */
export function formatNumber(value: Maybe<number>, digits = 0): string {
  return isKnown(value) ? value.toLocaleString("en", { maximumFractionDigits: digits }) : UNKNOWN;
}

/** A number of any size with four significant digits: `0.0024`, `1.235`, `3.2e-5`. */
export function formatValue(value: Maybe<number>): string {
  if (!isKnown(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace("e+", "e");
  return value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** A fraction from 0 to 1 as a percentage: `0.974` → `97.4 %`. */
export function formatShare(value: Maybe<number>, digits = 1): string {
  return isKnown(value) ? `${(value * 100).toFixed(digits)} %` : UNKNOWN;
}

/** `5368709120` → `5.00 GiB`. */
export function formatBytes(value: Maybe<number>): string {
  if (!isKnown(value)) return UNKNOWN;
  let [size, unit] = [value, 0];
  while (Math.abs(size) >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toPrecision(3)} ${UNITS[unit] ?? ""}`;
}

/** `3725` → `1 h 2 min`; `0.4` → `0.4 s`. */
export function formatDuration(seconds: Maybe<number>): string {
  if (!isKnown(seconds)) return UNKNOWN;
  if (seconds < 10) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < MINUTE_S) return `${Math.round(seconds)} s`;
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min ${Math.floor(seconds % MINUTE_S)} s`;
  if (seconds < DAY_S) return `${Math.floor(seconds / HOUR_S)} h ${Math.floor((seconds % HOUR_S) / MINUTE_S)} min`;
  return `${Math.floor(seconds / DAY_S)} d ${Math.floor((seconds % DAY_S) / HOUR_S)} h`;
}

/** A time in the local time zone: `15 Nov 2026, 18:42`. */
export function formatTime(time: Maybe<string>): string {
  if (!time) return UNKNOWN;
  return new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** The age of a time: `just now`, `5 min ago`, `3 d ago`. */
export function formatAgo(time: Maybe<string>, now = Date.now()): string {
  if (!time) return UNKNOWN;
  const seconds = (now - new Date(time).getTime()) / 1_000;
  if (seconds < MINUTE_S) return "just now";
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min ago`;
  if (seconds < DAY_S) return `${Math.floor(seconds / HOUR_S)} h ago`;
  return `${Math.floor(seconds / DAY_S)} d ago`;
}

/** `1 run`, `2 runs`, `no runs`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  if (count === 0) return `no ${many}`;
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

function isKnown(value: Maybe<number>): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** The name of a run without the timestamp of its id:`20261115-214717-rate-0-f5af` → `rate-0-f5af`. */
export function shortRunName(runId: string): string {
  return runId.replace(/^\d{8}-\d{6}-(?=.)/, "");
}
