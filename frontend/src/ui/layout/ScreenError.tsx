import type { ErrorComponentProps } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ErrorNotice } from "../feedback/ErrorNotice";
import { Page } from "./Page";

/** The error boundary of a screen. The rest of the app keeps working. */
export function ScreenError({ error, reset }: ErrorComponentProps): ReactElement {
  return (
    <Page title="This screen failed">
      <ErrorNotice
        error={error instanceof Error ? error : new Error(String(error))}
        title="Could not show this screen"
        onRetry={reset}
      />
    </Page>
  );
}
