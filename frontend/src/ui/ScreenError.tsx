import type { ErrorComponentProps } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ErrorNotice } from "./feedback/ErrorNotice";
import { Page } from "./Page";

/** What a screen that fails shows in its own place; the rest of the app goes on. */
export function ScreenError({ error, reset }: ErrorComponentProps): ReactElement {
  return (
    <Page title="This screen failed">
      <ErrorNotice
        error={error instanceof Error ? error : new Error(String(error))}
        title="The screen could not be shown"
        onRetry={reset}
      />
    </Page>
  );
}
