import { type ReactElement, type ReactNode, useId } from "react";
import { classes } from "../classes";
import styles from "./Field.module.css";

export interface FieldProps {
  label: string;
  /** One line of help, or the unit. */
  help?: ReactNode;
  /** The validation error, shown and announced with the field. */
  error?: string | null | undefined;
  /** Hides the label visually. Screen readers still announce it. */
  isLabelHidden?: boolean;
}

interface ControlIds {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

/** The label, control, help and error of one field. The control takes the ids that connect them. */
export function Field(props: FieldProps & { children: (ids: ControlIds) => ReactNode }): ReactElement {
  const { label, help, error, isLabelHidden = false, children } = props;
  const id = useId();
  const [helpId, errorId] = [`${id}-help`, `${id}-error`];
  const described = [help === undefined ? "" : helpId, error ? errorId : ""].filter(Boolean).join(" ");
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={classes(styles.label, isLabelHidden && styles.hidden)}>
        {label}
      </label>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": error ? true : undefined })}
      {help === undefined ? null : (
        <span id={helpId} className={styles.help}>
          {help}
        </span>
      )}
      {error ? (
        <span id={errorId} className={styles.error}>
          {error}
        </span>
      ) : null}
    </div>
  );
}
