import type { ReactElement } from "react";
import type { XrayReport } from "../../../api/schema.gen";
import { Badge } from "../../../ui/display/Badge";
import { formatCount, formatNumber, formatShare } from "../../../ui/display/format";
import styles from "../datasets.module.css";

/** A one-line verdict on whether the dataset can be trained on. */
export function Verdict({ report }: { report: XrayReport }): ReactElement {
  const { passed, num_examples, num_tokens, num_trained } = report;
  const share = formatShare(num_tokens === 0 ? null : num_trained / num_tokens);
  return (
    <div className={styles.row} role="status">
      {passed ? (
        <Badge kind="good" sign="✓">
          ready for training
        </Badge>
      ) : (
        <Badge kind="bad" sign="✕">
          not ready for training
        </Badge>
      )}
      <p>
        {formatCount(num_examples, "example")}
        {report.is_partial ? " (first ones only)" : ""}, {share} of {formatNumber(num_tokens)} tokens trained
      </p>
    </div>
  );
}
