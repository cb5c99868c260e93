import type { ReactElement } from "react";
import { classes } from "../classes";
import { Button } from "../forms/Button";
import { dismissToast, useToasts } from "./toasts";
import styles from "./Toasts.module.css";

/** The toast container. The app renders one. */
export function Toasts(): ReactElement {
  return (
    <div className={styles.toasts} role="status" aria-label="Notifications">
      {useToasts().map(({ id, kind, text }) => (
        <div key={id} className={classes(styles.toast, kind === "error" && styles.error)}>
          <span>{text}</span>
          <Button
            kind="quiet"
            aria-label="Dismiss"
            onClick={() => {
              dismissToast(id);
            }}
          >
            ✕
          </Button>
        </div>
      ))}
    </div>
  );
}
