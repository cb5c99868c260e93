import type { ReactElement } from "react";
import { ApiError } from "../../api/errors";
import { classes } from "../classes";
import { Button } from "../forms/Button";
import styles from "./states.module.css";

interface ErrorNoticeProps {
  error: Error;
  /** What was wanted: "The runs could not be read". */
  title?: string;
  onRetry?: () => void;
}

/** What went wrong, what to do next, and the way to try again. */
export function ErrorNotice({ error, title = "This did not work", onRetry }: ErrorNoticeProps): ReactElement {
  const nextStep = error instanceof ApiError ? error.nextStep : "This is a bug of the web app: reload the page.";
  return (
    <section role="alert" className={classes(styles.state, styles.error)}>
      <h2>{title}</h2>
      <p>{error.message}</p>
      <p className={styles.next}>Next: {nextStep}</p>
      {onRetry === undefined ? null : <Button onClick={onRetry}>Try again</Button>}
    </section>
  );
}
