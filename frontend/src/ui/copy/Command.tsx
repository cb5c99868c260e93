import type { ReactElement } from "react";
import { Button } from "../forms/Button";
import styles from "./Command.module.css";
import { copyText } from "./CopyAs";

/** A shell command with a copy button. */
export function Command({ children }: { children: string }): ReactElement {
  return (
    <span className={styles.command}>
      <code>{children}</code>
      <Button
        kind="quiet"
        aria-label={`Copy ${children}`}
        onClick={() => {
          void copyText(children, children);
        }}
      >
        Copy
      </Button>
    </span>
  );
}
