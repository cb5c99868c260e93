import type { ReactElement } from "react";
import styles from "./states.module.css";

/** A loading message, such as "Loading 12 runs…". */
export function Loading({ what = "Loading…" }: { what?: string }): ReactElement {
  return (
    <p role="status" className={styles.loading}>
      {what}
    </p>
  );
}
