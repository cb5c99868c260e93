import type { ReactElement } from "react";
import type { RunDetail } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { formatNumber, shortRunName, UNKNOWN } from "../../../ui/display/format";
import { Checkbox } from "../../../ui/forms/Checkbox";
import { PlainTable } from "../../../ui/tables/PlainTable";
import styles from "./compare.module.css";
import type { ComparedRun } from "./RunLegend";
import type { ChangeCompare } from "./search";

interface SettingsTabProps {
  runs: readonly ComparedRun[];
  isAll: boolean;
  change: ChangeCompare;
}

/** The resolved recipes side by side, by default only the settings that differ. */
export function SettingsTab({ runs, isAll, change }: SettingsTabProps): ReactElement {
  const rows = settingRows(runs.map(({ run }) => run));
  const shown = isAll ? rows : rows.filter(({ isSame }) => !isSame);
  const numSame = rows.filter(({ isSame }) => isSame).length;
  return (
    <Card title={isAll ? "All settings" : "Differing settings"}>
      <div className={styles.row}>
        <Checkbox
          label={`Show ${formatNumber(numSame)} identical settings`}
          isChecked={isAll}
          onChange={(isChecked) => {
            change({ all: isChecked || undefined });
          }}
        />
      </div>
      {shown.length === 0 ? (
        <p role="status">{noDifferenceText(runs.length)}</p>
      ) : (
        <PlainTable
          name="Settings"
          columns={[{ header: "Setting" }, ...runs.map(({ run }) => ({ header: shortRunName(run.run_id) }))]}
          rows={shown.map((row) => ({ key: row.key, cells: [<code key="key">{row.key}</code>, ...cellsOf(row)] }))}
        />
      )}
    </Card>
  );
}

function cellsOf({ values }: SettingRow): ReactElement[] {
  return values.map((value, index) => {
    const isOther = value !== values[0];
    return (
      <span key={index} className={styles.value}>
        {isOther ? <strong>≠ {value}</strong> : value}
      </span>
    );
  });
}

function noDifferenceText(numRuns: number): string {
  return numRuns < 2
    ? "Select a second run to compare settings."
    : "The runs have identical settings. If their curves differ, the cause is randomness, data or hardware.";
}

interface SettingRow {
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
function settingRows(runs: readonly RunDetail[]): SettingRow[] {
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
