import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useId, useState } from "react";
import { recipeSettingsQuery } from "./plans";
import type { RecipeSetting } from "../../../api/schema.gen";
import { Button } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import styles from "./launch.module.css";

interface SettingFormProps {
  /** The current recipe, to show the current value. */
  recipe: Record<string, unknown> | undefined;
  onSet: (setting: string) => void;
}

/** Overrides a setting by key, with its description and allowed values. */
export function SettingForm({ recipe, onSet }: SettingFormProps): ReactElement {
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
        {" "}
        Override{" "}
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
