import type { ComponentProps, ReactElement } from "react";
import { classes } from "../classes";
import styles from "./Button.module.css";

export type ButtonKind = "plain" | "primary" | "danger" | "quiet";

interface ButtonProps extends ComponentProps<"button"> {
  kind?: ButtonKind;
  /** An action is in progress: the button is disabled and marked as busy. */
  isBusy?: boolean;
}

/** A button. A screen has one `primary` button: its main action. */
export function Button({ kind = "plain", isBusy = false, className, disabled, ...rest }: ButtonProps): ReactElement {
  return (
    <button
      type="button"
      className={classes(styles.button, styles[kind], className)}
      disabled={isBusy || disabled}
      aria-busy={isBusy || undefined}
      {...rest}
    />
  );
}

/** The button style for a `<Link>` or `<a>`. */
export function buttonClass(kind: ButtonKind = "plain"): string {
  return classes(styles.button, styles[kind]);
}
