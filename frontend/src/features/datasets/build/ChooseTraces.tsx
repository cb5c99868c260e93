import type { ReactElement } from "react";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import styles from "./build.module.css";
import type { BuildChange, BuildForm } from "./form";
import type { BuildErrors } from "./spec";

export interface BuildStepProps {
  form: BuildForm;
  errors: BuildErrors;
  onChange: (changes: BuildChange) => void;
}

type TextKey = "query" | "source" | "tags" | "meta" | "min_score" | "max_score" | "codes" | "without_codes";

const FIELDS: readonly { key: TextKey; label: string; help: string; type?: "number" }[] = [
  { key: "query", label: "Words", help: "all must occur; word* matches a prefix" },
  { key: "source", label: "Source", help: "the trace's meta.source" },
  { key: "tags", label: "Tags", help: "comma-separated, all must match" },
  { key: "meta", label: "Labels", help: "e.g. category=algebra, difficulty=hard" },
  { key: "min_score", label: "Min linter score", help: "0 to 100", type: "number" },
  { key: "max_score", label: "Max linter score", help: "0 to 100", type: "number" },
  { key: "without_codes", label: "Without findings", help: "e.g. arithmetic-wrong" },
  { key: "codes", label: "With findings", help: "linter codes, comma-separated" },
];

/** Selects the stored traces to consider. Without filters, all of them. */
export function ChooseTraces({ form, errors, onChange }: BuildStepProps): ReactElement {
  return (
    <Card title="1. Select traces">
      <p className={styles.muted}>Traces must match every filter. Without filters, all traces are used.</p>
      <div className={styles.fields}>
        {FIELDS.map(({ key, label, help, type = "text" }) => (
          <TextField
            key={key}
            label={label}
            help={help}
            type={type}
            error={errors[key]}
            value={form[key] ?? ""}
            onChange={(text) => {
              onChange({ [key]: text });
            }}
          />
        ))}
      </div>
    </Card>
  );
}
