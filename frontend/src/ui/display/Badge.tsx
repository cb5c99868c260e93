import type { ReactElement, ReactNode } from "react";
import { classes } from "../classes";
import styles from "./display.module.css";

export type BadgeKind = "neutral" | "good" | "bad" | "warn" | "info";

interface BadgeProps {
  kind?: BadgeKind;
  /** A symbol beside the text, so that meaning does not depend on colour. */
  sign?: string;
  children: ReactNode;
}

/** A short status label. */
export function Badge({ kind = "neutral", sign, children }: BadgeProps): ReactElement {
  return (
    <span className={classes(styles.badge, styles[kind])}>
      {sign === undefined ? null : <span aria-hidden="true">{sign}</span>}
      {children}
    </span>
  );
}
