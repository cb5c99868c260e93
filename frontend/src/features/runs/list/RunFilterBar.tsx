import type { ReactElement } from "react";
import { Button } from "../../../ui/forms/Button";
import { CheckboxGroup } from "../../../ui/forms/CheckboxGroup";
import { TextField } from "../../../ui/forms/TextField";
import { RUN_STATUSES } from "../../../ui/display/StatusBadge";
import type { RunFilters } from "./filters";
import styles from "./runs.module.css";

interface RunFilterBarProps {
  filters: RunFilters;
  onChange: (changes: Partial<RunFilters>) => void;
}

const STATUS_CHOICES = RUN_STATUSES.map((status) => ({ value: status, label: status }));

export function RunFilterBar({ filters, onChange }: RunFilterBarProps): ReactElement {
  const hasAny = Object.keys(filters).length > 0;
  return (
    <search className={styles.filters}>
      <TextField
        label="Search"
        type="search"
        placeholder="id, recipe, model or dataset"
        value={filters.text ?? ""}
        onChange={(text) => {
          onChange({ text });
        }}
      />
      <TextField
        label="Model"
        type="search"
        value={filters.model ?? ""}
        onChange={(model) => {
          onChange({ model });
        }}
      />
      <TextField
        label="Dataset"
        type="search"
        help="exact key"
        value={filters.dataset ?? ""}
        onChange={(dataset) => {
          onChange({ dataset });
        }}
      />
      <CheckboxGroup
        label="Status"
        choices={STATUS_CHOICES}
        values={filters.status ?? []}
        onChange={(status) => {
          onChange({ status });
        }}
      />
      {hasAny ? (
        <Button
          kind="quiet"
          onClick={() => {
            onChange({ text: "", model: "", dataset: "", status: [] });
          }}
        >
          Clear filters
        </Button>
      ) : null}
    </search>
  );
}
