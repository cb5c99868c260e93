import type { ComponentProps, ReactElement } from "react";
import { classes } from "../classes";
import { Field, type FieldProps } from "./Field";
import styles from "./Field.module.css";

interface TextFieldProps extends FieldProps, Omit<ComponentProps<"input">, "onChange" | "value" | "id"> {
  value: string;
  onChange: (value: string) => void;
}

/** A single-line input; `type` makes it a number, search or password field. */
export function TextField({
  label,
  help,
  error,
  isLabelHidden,
  onChange,
  className,
  ...rest
}: TextFieldProps): ReactElement {
  return (
    <Field label={label} help={help} error={error} isLabelHidden={isLabelHidden ?? false}>
      {(ids) => (
        <input
          {...rest}
          {...ids}
          className={classes(styles.control, className)}
          onChange={(event) => {
            onChange(event.target.value);
          }}
        />
      )}
    </Field>
  );
}
