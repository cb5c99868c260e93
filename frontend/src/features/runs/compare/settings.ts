import type { RunDetail } from "../../../api/schema.gen";
import { UNKNOWN } from "../../../ui/display/format";

export interface SettingRow {
  key: string;
  /** The values as text, one per run. */
  values: string[];
  isSame: boolean;
}

/**
 * Every setting of these runs, request settings first. Missing values are dashes.
 *
 * @example
 * settingRows([a, b]).filter(({ isSame }) => !isSame) // differing settings
 */
export function settingRows(runs: readonly RunDetail[]): SettingRow[] {
  const settings = runs.map(settingsOf);
  const keys = [...new Set(settings.flatMap((one) => [...one.keys()]))];
  return keys.map((key) => {
    const values = settings.map((one) => one.get(key) ?? UNKNOWN);
    return { key, values, isSame: values.every((value) => value === values[0]) };
  });
}

function settingsOf(run: RunDetail): Map<string, string> {
  const { engine, device, executor } = run;
  // The values already include the overrides.
  const recipe = Object.entries(run.recipe).filter(([section]) => section !== "overrides");
  const settings = flattened(Object.fromEntries(recipe));
  return new Map([...Object.entries({ engine, device, executor }), ...settings]);
}

function flattened(values: Record<string, unknown>, prefix = ""): [string, string][] {
  return Object.entries(values).flatMap(([key, value]) => {
    const name = `${prefix}${key}`;
    return isSection(value) ? flattened(value, `${name}.`) : [[name, textOf(value)] satisfies [string, string]];
  });
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
