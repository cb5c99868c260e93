import { type ReactElement, type ReactNode, useId } from "react";
import { classes } from "../classes";
import styles from "./Field.module.css";

export interface FieldProps {
  label: string;
  /** One line that says what it does, or its unit. */
  help?: ReactNode;
  /** What is wrong with the value; shown beside it and read out with it. */
  error?: string | null | undefined;
  /** The label is read out but not shown: for filters whose place says what they are. */
  isLabelHidden?: boolean;
}

interface ControlIds {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

/** Label, control, help and error of one value. The control takes the ids that tie them together. */
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
