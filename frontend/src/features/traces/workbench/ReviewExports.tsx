import type { ReactElement } from "react";
import { Command } from "../../../ui/copy/Command";
import { buttonClass } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import styles from "./workbench.module.css";

/** Downloads of all reviews as training data. */
export function ReviewExports(): ReactElement {
  return (
    <Card title="Export reviews">
      <p>Every saved review provides training data: the repaired trace, a preference pair and a label for each step.</p>
      <div className={styles.buttons}>
        <a href="/api/traces/revisions/preferences.jsonl" download className={buttonClass()}>
          Download preferences
        </a>
        <a href="/api/traces/revisions/step-labels.jsonl" download className={buttonClass()}>
          Download step labels
        </a>
      </div>
      <Command>tunix-rt traces export-reviews preferences --output preferences.jsonl</Command>
    </Card>
  );
}
