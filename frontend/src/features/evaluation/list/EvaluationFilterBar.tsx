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
  { key: "model", label: "Model", placeholder: "part of the name" },
  { key: "eval_set", label: "Eval set", placeholder: "exact name" },
  { key: "dataset", label: "Trained on", placeholder: "exact dataset key" },
  { key: "recipe", label: "Recipe", placeholder: "part of the name" },
] as const;
const NO_FILTERS = { model: "", eval_set: "", dataset: "", recipe: "" };

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
            onChange(NO_FILTERS);
          }}
        >
          Clear filters
        </Button>
      ) : null}
    </search>
  );
}
