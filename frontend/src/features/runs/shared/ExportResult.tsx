import type { ReactElement } from "react";
import type { ExportReport, Task } from "../../../api/schema.gen";
import { exportDownloadPath } from "./tasks";
import { buttonClass } from "../../../ui/forms/Button";
import { Badge } from "../../../ui/display/Badge";
import { formatBytes, formatCount } from "../../../ui/display/format";
import styles from "./tasks.module.css";

/** The parity result of an export, its basis and the download link. */
export function ExportResult({ task, report }: { task: Task; report: ExportReport }): ReactElement {
  const size = report.files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return (
    <div className={styles.head}>
      <Badge kind={report.passed ? "good" : "bad"} sign={report.passed ? "✓" : "✕"}>
        {report.passed ? "Identical model" : "Not identical"}
      </Badge>
      <span className={styles.what}>{parityText(report)}</span>
      <a className={buttonClass()} href={exportDownloadPath(task.task_id)} download>
        Download, {formatBytes(size)}
      </a>
    </div>
  );
}

function parityText({ tokens, is_same_bytes, passed }: ExportReport): string {
  if (!tokens)
    return is_same_bytes ? "All bytes match the registered model." : "Bytes differ from the registered model.";
  const questions = formatCount(tokens.prompts.length, "question");
  // The device is followed by the reason in parentheses.
  const [device] = tokens.device.split(" (");
  const where = `${tokens.engine} on ${device}, ${tokens.precision}`;
  if (passed) return `Both models generated the same tokens for ${questions} (${where}).`;
  const numDiffering = tokens.prompts.filter(({ registered, exported }) => !areEqual(registered, exported)).length;
  return `The models generated different tokens for ${numDiffering} of ${questions} (${where}). Export as float32 to avoid rounding.`;
}

function areEqual(some: readonly number[], others: readonly number[]): boolean {
  return some.length === others.length && some.every((token, index) => token === others[index]);
}
