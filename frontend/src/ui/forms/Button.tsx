import type { ComponentProps, ReactElement } from "react";
import { classes } from "../classes";
import styles from "./Button.module.css";

export type ButtonKind = "plain" | "primary" | "danger" | "quiet";

interface ButtonProps extends ComponentProps<"button"> {
  kind?: ButtonKind;
  /** Something is under way: it cannot be pressed again, and says so. */
  isBusy?: boolean;
}

/** A button; one `primary` a screen: the next sensible act. */
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

/** The look of a button for a `<Link>` or `<a>`. */
export function buttonClass(kind: ButtonKind = "plain"): string {
  return classes(styles.button, styles[kind]);
}
