import type { ReactElement } from "react";
import { Field, type FieldProps } from "./Field";
import styles from "./Field.module.css";

export interface Choice<Value extends string> {
  value: Value;
  label: string;
}

interface SelectProps<Value extends string> extends FieldProps {
  value: Value;
  choices: readonly Choice<Value>[];
  onChange: (value: Value) => void;
  disabled?: boolean;
}

/** A select with a label. */
export function Select<Value extends string>(props: SelectProps<Value>): ReactElement {
  const { label, help, error, isLabelHidden = false, value, choices, onChange, disabled } = props;
  return (
    <Field label={label} help={help} error={error} isLabelHidden={isLabelHidden}>
      {(ids) => (
        <select
          {...ids}
          className={styles.control}
          value={value}
          disabled={disabled}
          onChange={(event) => {
            const chosen = choices.find((choice) => choice.value === event.target.value);
            if (chosen !== undefined) onChange(chosen.value);
          }}
        >
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
