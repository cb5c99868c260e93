import type { ReactElement } from "react";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import styles from "./build.module.css";
import type { BuildStepProps } from "./ChooseTraces";
import { DEFAULT_SPLITS } from "./form";

const DEDUP_CHOICES = [
  { value: "exact", label: "remove the same solution" },
  { value: "near", label: "remove almost the same too" },
  { value: "none", label: "keep them" },
] as const;
const CONTAMINATION_CHOICES = [
  { value: "refuse", label: "refuse the build" },
  { value: "remove", label: "leave those rows out" },
  { value: "allow", label: "keep them, on record" },
] as const;
const STRATEGY_CHOICES = [
  { value: "latest", label: "the newest" },
  { value: "random", label: "a random sample" },
] as const;

/** What is left out, and how the rest is divided. */
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
        {form.dedup === "near" ? number("near_threshold", "Similar from", "0.5 to 1; 0.8 when empty") : null}
        <Select
          label="Questions of an eval set"
          value={form.contamination ?? "refuse"}
          choices={CONTAMINATION_CHOICES}
          onChange={(contamination) => {
            onChange({ contamination: contamination === "refuse" ? undefined : contamination });
          }}
        />
        {number("max_per_prompt", "Solutions of one question", "at most; any number when empty")}
        {number("limit", "Rows", "at most; all when empty")}
        {form.limit === undefined ? null : (
          <Select
            label="Which rows stay"
            value={form.strategy ?? "latest"}
            choices={STRATEGY_CHOICES}
            onChange={(strategy) => {
              onChange({ strategy: strategy === "latest" ? undefined : strategy });
            }}
          />
        )}
        <TextField
          label="Splits"
          help="fractions of the questions; a question is on one side only"
          placeholder={DEFAULT_SPLITS}
          error={errors.splits}
          value={form.splits ?? ""}
          onChange={(splits) => {
            onChange({ splits });
          }}
        />
        {number("seed", "Seed", "decides splits and samples; 0 when empty")}
      </div>
    </Card>
  );
}
