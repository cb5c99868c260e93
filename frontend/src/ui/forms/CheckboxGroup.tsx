import type { ReactElement } from "react";
import { Checkbox } from "./Checkbox";
import styles from "./Field.module.css";
import type { Choice } from "./Select";

interface CheckboxGroupProps<Value extends string> {
  label: string;
  choices: readonly Choice<Value>[];
  values: readonly Value[];
  onChange: (values: Value[]) => void;
}

/** A group of checkboxes. The values keep the order of the choices. */
export function CheckboxGroup<Value extends string>(props: CheckboxGroupProps<Value>): ReactElement {
  const { label, choices, values, onChange } = props;
  const toggle = (value: Value, isChecked: boolean): void => {
    const wanted = isChecked ? [...values, value] : values.filter((other) => other !== value);
    onChange(choices.map((choice) => choice.value).filter((choice) => wanted.includes(choice)));
  };
  return (
    <fieldset className={styles.group}>
      <legend>{label}</legend>
      {choices.map((choice) => (
        <Checkbox
          key={choice.value}
          label={choice.label}
          isChecked={values.includes(choice.value)}
          onChange={(isChecked) => {
            toggle(choice.value, isChecked);
          }}
        />
      ))}
    </fieldset>
  );
}
