import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useId, useState } from "react";
import type { RecipeSetting, RunPreview } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { Button } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import styles from "./launch.module.css";
import { recipeSettingsQuery } from "../shared/plans";
import { keyOf, withSettings } from "./request";
import type { ChangeSearch, LaunchSearch } from "./search";

interface SettingsCardProps {
  search: LaunchSearch;
  change: ChangeSearch;
  preview: RunPreview | undefined;
}

interface OverrideRow {
  key: string;
  /** Absent until the plan is loaded. */
  before?: string;
  after: string;
  reason: string;
  /** Absent for overrides of a source run. */
  undo?: () => void;
}

/** The overrides of the recipe, and a form to add more. */
export function SettingsCard({ search, change, preview }: SettingsCardProps): ReactElement {
  const overrideRows = listOverrides(search, change, preview);
  return (
    <Card title="Overrides">
      {overrideRows.length === 0 ? (
        <p className={styles.muted}>No overrides.</p>
      ) : (
        <OverrideTable overrideRows={overrideRows} />
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

function OverrideTable({ overrideRows }: { overrideRows: readonly OverrideRow[] }): ReactElement {
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
          {overrideRows.map(({ key, before, after, reason, undo }) => (
            <tr key={`${key} ${reason}`}>
              <th scope="row" title={`set by ${reason}`}>
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

function listOverrides(search: LaunchSearch, change: ChangeSearch, preview: RunPreview | undefined): OverrideRow[] {
  // `recipe.resolved.json` is a recipe with an additional `overrides` key, which the schema types as any JSON.
  const overrides = (preview?.recipe.overrides ?? []) as Override[];
  const sets = search.set ?? [];
  const own = sets.map((setting): OverrideRow => {
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
  return [...own, ...others.map((override) => formOverride(override, change))];
}

/** An override made by the form or by a source run. */
function formOverride(override: Override, change: ChangeSearch): OverrideRow {
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

/** A value as one-line YAML. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

interface SettingFormProps {
  /** The current recipe, to show the current value. */
  recipe: Record<string, unknown> | undefined;
  onSet: (setting: string) => void;
}

/** Overrides a setting by key, with its description and allowed values. */
function SettingForm({ recipe, onSet }: SettingFormProps): ReactElement {
  const settings = useQuery(recipeSettingsQuery);
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const listId = useId();
  const known = settings.data?.data ?? [];
  const chosen = known.find((setting) => setting.key === key.trim());
  return (
    <form
      className={styles.setting}
      onSubmit={(event) => {
        event.preventDefault();
        onSet(`${key.trim()}=${value.trim()}`);
        setKey("");
        setValue("");
      }}
    >
      <TextField
        label="Setting"
        list={listId}
        placeholder="training.learning_rate"
        autoComplete="off"
        value={key}
        onChange={setKey}
      />
      <datalist id={listId}>
        {known.map((setting) => (
          <option key={setting.key} value={setting.key}>
            {setting.meaning}
          </option>
        ))}
      </datalist>
      <TextField
        label="Value"
        placeholder={chosen && recipe ? `is ${JSON.stringify(valueAt(recipe, chosen.key))}` : ""}
        autoComplete="off"
        value={value}
        onChange={setValue}
      />
      <Button type="submit" disabled={key.trim() === "" || value.trim() === ""}>
        Override
      </Button>
      {chosen === undefined ? null : <SettingHelp setting={chosen} />}
    </form>
  );
}

function SettingHelp({ setting }: { setting: RecipeSetting }): ReactElement {
  return (
    <p role="status" className={styles.help}>
      {setting.meaning} Allowed: {setting.allowed}. Default: {JSON.stringify(setting.default ?? null)}.
    </p>
  );
}

function valueAt(recipe: Record<string, unknown>, key: string): unknown {
  return (
    key.split(".").reduce<unknown>((found, part) => {
      return typeof found === "object" && found !== null ? (found as Record<string, unknown>)[part] : null;
    }, recipe) ?? null
  );
}
