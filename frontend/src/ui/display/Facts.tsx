import type { ReactElement, ReactNode } from "react";
import styles from "./display.module.css";

/** Names and values of a record: `<Facts facts={{ Model: run.model, Engine: run.engine }} />`. */
export function Facts({ facts }: { facts: Record<string, ReactNode> }): ReactElement {
  return (
    <dl className={styles.facts}>
      {Object.entries(facts).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? "–"}</dd>
        </div>
      ))}
    </dl>
  );
}
