import type { ReactElement, ReactNode } from "react";
import styles from "./states.module.css";

interface EmptyProps {
  /** What is not there: "No runs yet". */
  title: string;
  /** What it is for and how it comes to be; one command, one button. */
  children: ReactNode;
  actions?: ReactNode;
}

/** An empty place teaches the next act. */
export function Empty({ title, children, actions }: EmptyProps): ReactElement {
  return (
    <section className={styles.state} aria-label={title}>
      <h2>{title}</h2>
      <div className={styles.teaching}>{children}</div>
      {actions === undefined ? null : <div className={styles.actions}>{actions}</div>}
    </section>
  );
}
