import type { ReactElement, ReactNode } from "react";
import styles from "./states.module.css";

interface EmptyProps {
  /** What is missing, such as "No runs yet". */
  title: string;
  /** What it is for and how to create one: one command, one button. */
  children: ReactNode;
  actions?: ReactNode;
}

/** An empty state that explains the next step. */
export function Empty({ title, children, actions }: EmptyProps): ReactElement {
  return (
    <section className={styles.state} aria-label={title}>
      <h2>{title}</h2>
      <div className={styles.guidance}>{children}</div>
      {actions === undefined ? null : <div className={styles.actions}>{actions}</div>}
    </section>
  );
}
