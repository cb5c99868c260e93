import type { ComponentProps, ReactElement } from "react";
import { classes } from "../classes";
import { Field, type FieldProps } from "./Field";
import styles from "./Field.module.css";

interface TextAreaProps extends FieldProps, Omit<ComponentProps<"textarea">, "onChange" | "value" | "id"> {
  value: string;
  onChange: (value: string) => void;
}

/** A multi-line text field. */
export function TextArea({
  label,
  help,
  error,
  isLabelHidden,
  onChange,
  className,
  ...rest
}: TextAreaProps): ReactElement {
  return (
    <Field label={label} help={help} error={error} isLabelHidden={isLabelHidden ?? false}>
      {(ids) => (
        <textarea
          rows={4}
          {...rest}
          {...ids}
          className={classes(styles.control, styles.area, className)}
          onChange={(event) => {
            onChange(event.target.value);
          }}
        />
      )}
    </Field>
  );
}
