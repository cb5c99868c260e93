import type { ReactElement } from "react";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import styles from "./build.module.css";
import type { BuildStepProps } from "./ChooseTraces";
import { DEFAULT_SPLITS } from "./form";

const DEDUP_CHOICES = [
  { value: "exact", label: "remove exact duplicates" },
  { value: "near", label: "remove near duplicates too" },
  { value: "none", label: "keep duplicates" },
] as const;
const CONTAMINATION_CHOICES = [
  { value: "refuse", label: "refuse the build" },
  { value: "remove", label: "remove those rows" },
  { value: "allow", label: "keep and record them" },
] as const;
const STRATEGY_CHOICES = [
  { value: "latest", label: "the newest" },
  { value: "random", label: "a random sample" },
] as const;

/** How rows are filtered, and how the rest is split. */
export function CleanAndSplit({ form, errors, onChange }: BuildStepProps): ReactElement {
  const number = (key: "limit" | "max_per_prompt" | "seed" | "near_threshold", label: string, help: string) => (
    <TextField
      label={label}
      help={help}
      type="number"
      error={errors[key]}
      value={form[key] ?? ""}
      onChange={(text) => {
        onChange({ [key]: text });
      }}
    />
  );
  return (
    <Card title="2. Clean and split">
      <div className={styles.fields}>
        <Select
          label="Duplicates"
          value={form.dedup ?? "exact"}
          choices={DEDUP_CHOICES}
          onChange={(dedup) => {
            onChange({ dedup: dedup === "exact" ? undefined : dedup });
          }}
        />
        {form.dedup === "near" ? number("near_threshold", "Similarity threshold", "0.5 to 1; default 0.8") : null}
        <Select
          label="Eval set overlap"
          value={form.contamination ?? "refuse"}
          choices={CONTAMINATION_CHOICES}
          onChange={(contamination) => {
            onChange({ contamination: contamination === "refuse" ? undefined : contamination });
          }}
        />
        {number("max_per_prompt", "Max solutions per question", "unlimited if empty")}
        {number("limit", "Max rows", "all if empty")}
        {form.limit === undefined ? null : (
          <Select
            label="Rows to keep"
            value={form.strategy ?? "latest"}
            choices={STRATEGY_CHOICES}
            onChange={(strategy) => {
              onChange({ strategy: strategy === "latest" ? undefined : strategy });
            }}
          />
        )}
        <TextField
          label="Splits"
          help="fractions of the questions; each question is in one split only"
          placeholder={DEFAULT_SPLITS}
          error={errors.splits}
          value={form.splits ?? ""}
          onChange={(splits) => {
            onChange({ splits });
          }}
        />
        {number("seed", "Seed", "for splits and sampling; default 0")}
      </div>
    </Card>
  );
}
