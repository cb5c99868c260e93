import type { ReactElement } from "react";
import type { Changes } from "../shared/changes";
import { Button } from "../../../ui/forms/Button";
import { Checkbox } from "../../../ui/forms/Checkbox";
import { TextField } from "../../../ui/forms/TextField";
import type { BoardFilters } from "./filters";
import styles from "./leaderboard.module.css";

interface LeaderboardFiltersProps {
  filters: BoardFilters;
  onChange: (changes: Changes<BoardFilters>) => void;
}

const FIELDS = [
  { key: "model", label: "Model", type: "search", placeholder: "part of the name" },
  { key: "eval_set", label: "Eval set", type: "search", placeholder: "exact name" },
  { key: "dataset", label: "Trained on", type: "search", placeholder: "exact dataset key" },
  { key: "recipe", label: "Recipe", type: "search", placeholder: "part of the name" },
  { key: "date_from", label: "From", type: "date", placeholder: "" },
  { key: "date_to", label: "To", type: "date", placeholder: "" },
] as const;
const NO_FILTERS = { model: "", eval_set: "", dataset: "", recipe: "", date_from: "", date_to: "", all: undefined };

export function LeaderboardFilters({ filters, onChange }: LeaderboardFiltersProps): ReactElement {
  return (
    <search className={styles.filters}>
      {FIELDS.map(({ key, label, type, placeholder }) => (
        <TextField
          key={key}
          label={label}
          type={type}
          placeholder={placeholder}
          value={filters[key] ?? ""}
          onChange={(value) => {
            onChange({ [key]: value });
          }}
        />
      ))}
      <Checkbox
        label="Include older evaluations of the same model"
        isChecked={filters.all ?? false}
        onChange={(isChecked) => {
          onChange({ all: isChecked ? true : undefined });
        }}
      />
      {Object.keys(filters).length > 0 ? (
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
