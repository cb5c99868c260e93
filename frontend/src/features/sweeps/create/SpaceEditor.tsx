import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useId } from "react";
import { recipeSettingsQuery } from "../../runs/shared/plans";
import type { RecipeSetting } from "../../../api/schema.gen";
import { Button } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import type { Change, NewSweepSearch } from "../search";
import styles from "../sweeps.module.css";
import { PARAMETER_TYPES, type ParameterType, type Searched, searchedOf, searchedText } from "./sweepText";

const TYPE_LABELS: Record<ParameterType, string> = {
  loguniform: "number (log scale)",
  uniform: "number",
  lograndint: "integer (log scale)",
  randint: "integer",
  choice: "list of values",
};
const TYPE_CHOICES = PARAMETER_TYPES.map((type) => ({ value: type, label: TYPE_LABELS[type] }));
const EMPTY: Searched = { key: "", type: "loguniform", values: ["", ""] };

interface SpaceEditorProps {
  search: NewSweepSearch;
  change: Change<NewSweepSearch>;
}

/** The search space: the settings to tune and their values. */
export function SpaceEditor({ search, change }: SpaceEditorProps): ReactElement {
  const settings = useQuery(recipeSettingsQuery);
  const known = settings.data?.data ?? [];
  const searched = searchedOf(search);
  const listId = useId();
  const store = (next: Searched[]): void => {
    change({ space: next.map(searchedText) });
  };
  return (
    <Card title="Search space">
      <datalist id={listId}>
        {known.map((setting) => (
          <option key={setting.key} value={setting.key}>
            {setting.meaning}
          </option>
        ))}
      </datalist>
      {searched.map((one, index) => (
        <SearchedRow
          key={index}
          number={index + 1}
          searched={one}
          setting={known.find(({ key }) => key === one.key.trim())}
          listId={listId}
          onChange={(next) => {
            store(searched.map((other, at) => (at === index ? next : other)));
          }}
          onRemove={
            searched.length < 2
              ? null
              : () => {
                  store(searched.filter((_, at) => at !== index));
                }
          }
        />
      ))}
      <div>
        <Button
          disabled={searched.some(({ key }) => key === "")}
          onClick={() => {
            store([...searched, EMPTY]);
          }}
        >
          Add setting
        </Button>
      </div>
    </Card>
  );
}

interface SearchedRowProps {
  number: number;
  searched: Searched;
  setting: RecipeSetting | undefined;
  listId: string;
  onChange: (searched: Searched) => void;
  onRemove: (() => void) | null;
}

function SearchedRow({ number, searched, setting, listId, onChange, onRemove }: SearchedRowProps): ReactElement {
  return (
    <fieldset className={styles.searched} aria-label={`Setting ${number}`}>
      <TextField
        label="Setting"
        list={listId}
        placeholder="training.learning_rate"
        autoComplete="off"
        value={searched.key}
        onChange={(key) => {
          onChange({ ...searched, key });
        }}
      />
      <Select
        label="Distribution"
        value={searched.type}
        choices={TYPE_CHOICES}
        onChange={(type) => {
          const wasChoice = searched.type === "choice";
          const isSameKind = wasChoice === (type === "choice");
          onChange({ ...searched, type, values: isSameKind ? searched.values : wasChoice ? ["", ""] : [""] });
        }}
      />
      <Values searched={searched} onChange={onChange} />
      {onRemove === null ? null : (
        <Button kind="quiet" aria-label={`Remove setting ${number}`} onClick={onRemove}>
          Remove
        </Button>
      )}
      {setting === undefined ? null : (
        <p className={styles.help}>
          {setting.meaning} Allowed: {setting.allowed}.
        </p>
      )}
    </fieldset>
  );
}

function Values({ searched, onChange }: Pick<SearchedRowProps, "searched" | "onChange">): ReactElement {
  const labels = searched.type === "choice" ? ["Values, comma-separated"] : ["Min", "Max"];
  return (
    <div className={searched.type === "choice" ? undefined : styles.ends}>
      {labels.map((label, at) => (
        <TextField
          key={label}
          label={label}
          inputMode={searched.type === "choice" ? "text" : "decimal"}
          autoComplete="off"
          value={searched.values[at] ?? ""}
          onChange={(typed) => {
            onChange({
              ...searched,
              values: labels.map((_, index) => (index === at ? typed : (searched.values[index] ?? ""))),
            });
          }}
        />
      ))}
    </div>
  );
}
