import type { ReactElement } from "react";
import type { ServedModel } from "../../api/schema.gen";
import { Checkbox } from "../../ui/forms/Checkbox";
import { type Choice, Select } from "../../ui/forms/Select";
import { TextField } from "../../ui/forms/TextField";
import styles from "./chat.module.css";
import type { ChatSearch } from "./search";
import { DEFAULT_TOKENS } from "./settings";

/** Changes to URL parameters. `undefined` removes one. */
type SearchChanges = { [Key in keyof ChatSearch]?: ChatSearch[Key] | undefined };

interface ChatSettingsProps {
  served: readonly ServedModel[];
  settings: ChatSearch & { model: string; other: string };
  onChange: (changes: SearchChanges) => void;
}

/** The model and decoding settings. */
export function ChatSettings({ served, settings, onChange }: ChatSettingsProps): ReactElement {
  const { model, other, blind = false, temperature = 0, tokens = DEFAULT_TOKENS } = settings;
  return (
    <div className={styles.settings}>
      <Select
        label={blind ? "Model A" : "Model"}
        value={model}
        choices={choicesOf(served, model)}
        onChange={(chosen) => {
          onChange({ model: chosen });
        }}
      />
      {blind ? (
        <Select
          label="Model B"
          value={other}
          choices={choicesOf(served, other)}
          onChange={(chosen) => {
            onChange({ other: chosen });
          }}
        />
      ) : null}
      <TextField
        label="Temperature"
        type="number"
        min={0}
        max={2}
        step={0.1}
        value={String(temperature)}
        onChange={(text) => {
          const value = Number(text);
          if (value >= 0 && value <= 2) onChange({ temperature: value });
        }}
      />
      <TextField
        label="Max tokens"
        type="number"
        min={1}
        step={1}
        value={String(tokens)}
        onChange={(text) => {
          const value = Number(text);
          if (Number.isInteger(value) && value >= 1) onChange({ tokens: value });
        }}
      />
      <Checkbox
        label="Blind comparison"
        isChecked={blind}
        onChange={(isBlind) => {
          onChange(isBlind ? { blind: true, other } : { blind: undefined });
        }}
      />
    </div>
  );
}

function choicesOf(served: readonly ServedModel[], chosen: string): Choice<string>[] {
  const isListed = served.some(({ id }) => id === chosen);
  const choices = served.map(({ id, root, is_loaded }) => ({
    value: id,
    label: `${id}${id === root ? "" : ` (${root})`}${is_loaded ? ", loaded" : ""}`,
  }));
  return isListed ? choices : [{ value: chosen, label: chosen }, ...choices];
}
