import type { ReactElement } from "react";
import { ApiError } from "../../api/errors";
import { classes } from "../classes";
import { Button } from "../forms/Button";
import styles from "./states.module.css";

interface ErrorNoticeProps {
  error: Error;
  /** What failed, such as "Could not load the runs". */
  title?: string;
  onRetry?: () => void;
}

/** An error with its next step and a retry button. */
export function ErrorNotice({ error, title = "Something went wrong", onRetry }: ErrorNoticeProps): ReactElement {
  const nextStep = error instanceof ApiError ? error.nextStep : "This is a bug in the web app. Reload the page.";
  return (
    <section role="alert" className={classes(styles.state, styles.error)}>
      <h2>{title}</h2>
      <p>{error.message}</p>
      <p className={styles.next}>Next step: {nextStep}</p>
      {onRetry === undefined ? null : <Button onClick={onRetry}>Try again</Button>}
    </section>
  );
}
