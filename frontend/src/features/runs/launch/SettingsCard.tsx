import type { ReactElement } from "react";
import type { RunPreview } from "../../../api/schema.gen";
import { Button } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import styles from "./launch.module.css";
import { keyOf, withSettings } from "./request";
import type { ChangeSearch, LaunchSearch } from "./search";
import { SettingForm } from "./SettingForm";

interface SettingsCardProps {
  search: LaunchSearch;
  change: ChangeSearch;
  preview: RunPreview | undefined;
}

interface Difference {
  key: string;
  /** Absent while the plan is not there. */
  before?: string;
  after: string;
  reason: string;
  /** Absent for what an earlier run had changed already. */
  undo?: () => void;
}

/** Only what differs from the recipe, and a way to change more of it. */
export function SettingsCard({ search, change, preview }: SettingsCardProps): ReactElement {
  const differences = differencesOf(search, change, preview);
  return (
    <Card title="What differs from the recipe">
      {differences.length === 0 ? (
        <p className={styles.muted}>Nothing: it runs as it is written.</p>
      ) : (
        <DifferenceTable differences={differences} />
      )}
      <SettingForm
        recipe={preview?.recipe}
        onSet={(setting) => {
          change({ set: withSettings(search.set ?? [], [setting]) });
        }}
      />
    </Card>
  );
}

function DifferenceTable({ differences }: { differences: readonly Difference[] }): ReactElement {
  return (
    <div className={styles.scroller}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Recipe</th>
            <th scope="col">This run</th>
            <th scope="col">
              <span className={styles.hidden}>Undo</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {differences.map(({ key, before, after, reason, undo }) => (
            <tr key={`${key} ${reason}`}>
              <th scope="row" title={`because of ${reason}`}>
                <code>{key}</code>
              </th>
              <td>{before === undefined ? "–" : <del>{before}</del>}</td>
              <td>
                <ins>{after}</ins>
              </td>
              <td>
                {undo === undefined ? null : (
                  <Button kind="quiet" aria-label={`Undo ${key}`} onClick={undo}>
                    ✕
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Override {
  key: string;
  recipe_value: unknown;
  used_value: unknown;
  reason: string;
}

function differencesOf(search: LaunchSearch, change: ChangeSearch, preview: RunPreview | undefined): Difference[] {
  // `recipe.resolved.json` is a recipe with this one key more; the schema knows it as any JSON.
  const overrides = (preview?.recipe.overrides ?? []) as Override[];
  const sets = search.set ?? [];
  const own = sets.map((setting): Difference => {
    const key = keyOf(setting);
    const found = overrides.find((override) => override.key === key && override.reason === "--set");
    return {
      key,
      after: setting.slice(setting.indexOf("=") + 1),
      reason: "--set",
      ...(found && { before: textOf(found.recipe_value) }),
      undo: () => {
        change({ set: sets.filter((other) => other !== setting) });
      },
    };
  });
  const others = overrides.filter(({ key, reason }) => reason !== "--set" || !sets.some((set) => keyOf(set) === key));
  return [...own, ...others.map((override) => otherDifference(override, change))];
}

/** What a choice of the form, or an earlier run, has changed. */
function otherDifference(override: Override, change: ChangeSearch): Difference {
  const undos: Record<string, () => void> = {
    "--dataset": () => {
      change({ dataset: undefined });
    },
    "--smoke-steps": () => {
      change({ steps: undefined });
    },
  };
  const undo = undos[override.reason];
  return {
    key: override.key,
    before: textOf(override.recipe_value),
    after: textOf(override.used_value),
    reason: override.reason,
    ...(undo && { undo }),
  };
}

/** A value as YAML would have it, on one line. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
