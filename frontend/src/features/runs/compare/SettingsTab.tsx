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

/** The resolved recipes beside each other: only what differs, unless all is asked for. */
export function SettingsTab({ runs, isAll, change }: SettingsTabProps): ReactElement {
  const rows = settingRows(runs.map(({ run }) => run));
  const shown = isAll ? rows : rows.filter(({ isSame }) => !isSame);
  const numSame = rows.filter(({ isSame }) => isSame).length;
  return (
    <Card title={isAll ? "Every setting" : "What differs"}>
      <div className={styles.row}>
        <Checkbox
          label={`Show the ${formatNumber(numSame)} settings that are the same, too`}
          isChecked={isAll}
          onChange={(isChecked) => {
            change({ all: isChecked || undefined });
          }}
        />
      </div>
      {shown.length === 0 ? (
        <p role="status">{nothingDiffers(runs.length)}</p>
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

function nothingDiffers(numRuns: number): string {
  return numRuns < 2
    ? "Choose a second run: nothing differs from itself."
    : "Nothing: the runs have the same settings. If their curves differ, chance, data or hardware made it so.";
}
