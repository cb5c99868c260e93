import type { ReactElement } from "react";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { Checkbox } from "../../../ui/forms/Checkbox";
import { Card } from "../../../ui/display/Card";
import { formatNumber } from "../../../ui/display/format";
import { shortRunName } from "../../../ui/display/names";
import styles from "./compare.module.css";
import type { ComparedRun } from "./comparedRun";
import type { ChangeCompare } from "./search";
import { type SettingRow, settingRows } from "./settings";

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
