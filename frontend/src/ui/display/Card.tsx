import { type ReactElement, type ReactNode, useId } from "react";
import styles from "./display.module.css";

/** A titled section of a screen. */
export function Card({ title, children }: { title: string; children: ReactNode }): ReactElement {
  const id = useId();
  return (
    <section className={styles.card} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}
