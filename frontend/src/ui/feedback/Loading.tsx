import type { ReactElement } from "react";
import styles from "./states.module.css";

/** Says what is awaited: "Reading 12 runs…" is better than a spinner. */
export function Loading({ what = "Loading…" }: { what?: string }): ReactElement {
  return (
    <p role="status" className={styles.loading}>
      {what}
    </p>
  );
}
