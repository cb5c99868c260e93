import type { ReactElement } from "react";
import type { ExportReport, Task } from "../../../api/schema.gen";
import { exportDownloadPath } from "./tasks";
import { buttonClass } from "../../../ui/forms/Button";
import { Badge } from "../../../ui/display/Badge";
import { formatBytes, formatCount } from "../../../ui/display/format";
import styles from "./tasks.module.css";

/** Whether an export is the registered model, how that is known, and the files themselves. */
export function ExportVerdict({ task, report }: { task: Task; report: ExportReport }): ReactElement {
  const size = report.files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return (
    <div className={styles.head}>
      <Badge kind={report.passed ? "good" : "bad"} sign={report.passed ? "✓" : "✕"}>
        {report.passed ? "The same model" : "Not the same model"}
      </Badge>
      <span className={styles.what}>{proofOf(report)}</span>
      <a className={buttonClass()} href={exportDownloadPath(task.task_id)} download>
        Download, {formatBytes(size)}
      </a>
    </div>
  );
}

function proofOf({ tokens, is_same_bytes, passed }: ExportReport): string {
  if (!tokens) return is_same_bytes ? "Read back: every byte is as registered." : "Read back: bytes differ.";
  const questions = formatCount(tokens.prompts.length, "question");
  // Behind the device stands in brackets why it was this one.
  const [device] = tokens.device.split(" (");
  const where = `${tokens.engine} on ${device}, ${tokens.precision}`;
  if (passed) return `Both wrote the same tokens for ${questions} (${where}).`;
  const numDiffering = tokens.prompts.filter(({ registered, exported }) => !areEqual(registered, exported)).length;
  return `They wrote different tokens for ${numDiffering} of ${questions} (${where}). Export it as float32: that rounds nothing.`;
}

function areEqual(some: readonly number[], others: readonly number[]): boolean {
  return some.length === others.length && some.every((token, index) => token === others[index]);
}
