import type { ReactElement } from "react";
import type { Changes } from "../shared/changes";
import { Button } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import styles from "../evaluations.module.css";
import type { EvaluationFilters } from "../filters";

interface EvaluationFilterBarProps {
  search: EvaluationFilters;
  onChange: (changes: Changes<EvaluationFilters>) => void;
}

const FIELDS = [
  { key: "model", label: "Model", placeholder: "part of its name" },
  { key: "eval_set", label: "Eval set", placeholder: "its whole name" },
  { key: "dataset", label: "Trained on", placeholder: "a dataset's whole key" },
  { key: "recipe", label: "Recipe", placeholder: "part of its name" },
] as const;
const NOTHING = { model: "", eval_set: "", dataset: "", recipe: "" };

export function EvaluationFilterBar({ search, onChange }: EvaluationFilterBarProps): ReactElement {
  const hasAny = FIELDS.some(({ key }) => search[key] !== undefined);
  return (
    <search className={styles.filters}>
      {FIELDS.map(({ key, label, placeholder }) => (
        <TextField
          key={key}
          label={label}
          type="search"
          placeholder={placeholder}
          value={search[key] ?? ""}
          onChange={(value) => {
            onChange({ [key]: value });
          }}
        />
      ))}
      <Select
        label="Order"
        value={search.order ?? "newest"}
        choices={[
          { value: "newest", label: "newest first" },
          { value: "best", label: "best first" },
        ]}
        onChange={(order) => {
          onChange({ order: order === "best" ? order : undefined });
        }}
      />
      {hasAny ? (
        <Button
          kind="quiet"
          onClick={() => {
            onChange(NOTHING);
          }}
        >
          Clear the filters
        </Button>
      ) : null}
    </search>
  );
}
