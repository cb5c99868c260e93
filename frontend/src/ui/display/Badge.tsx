import type { ReactElement, ReactNode } from "react";
import { classes } from "../classes";
import styles from "./display.module.css";

export type BadgeKind = "neutral" | "good" | "bad" | "warn" | "info";

interface BadgeProps {
  kind?: BadgeKind;
  /** A sign beside the words: the colour alone says nothing to some. */
  sign?: string;
  children: ReactNode;
}

/** A short word about the state of something. */
export function Badge({ kind = "neutral", sign, children }: BadgeProps): ReactElement {
  return (
    <span className={classes(styles.badge, styles[kind])}>
      {sign === undefined ? null : <span aria-hidden="true">{sign}</span>}
      {children}
    </span>
  );
}
