import type { ReactElement } from "react";
import { Empty } from "./feedback/Empty";
import { Page } from "./Page";

/** Stands where a screen is being built, and says how the same is done without it. */
export function Placeholder({ title, command }: { title: string; command: string }): ReactElement {
  return (
    <Page title={title}>
      <Empty title="This screen is not built yet">
        <p>
          The command line has it: <code>{command}</code>
        </p>
      </Empty>
    </Page>
  );
}
