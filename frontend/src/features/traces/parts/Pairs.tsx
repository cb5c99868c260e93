import type { ReactElement, ReactNode } from "react";
import styles from "./Pairs.module.css";

/** Names and values in rows, for narrow places. */
export function Pairs({ pairs }: { pairs: Record<string, ReactNode> }): ReactElement {
  return (
    <dl className={styles.pairs}>
      {Object.entries(pairs).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
