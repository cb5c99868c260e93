import type { ReactElement, ReactNode } from "react";
import styles from "./KeyValueList.module.css";

/** Names and values in rows, for narrow columns. */
export function KeyValueList({ entries }: { entries: Record<string, ReactNode> }): ReactElement {
  return (
    <dl className={styles.entries}>
      {Object.entries(entries).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
