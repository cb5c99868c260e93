import type { ReactElement } from "react";
import type { XrayReport } from "../../../api/schema.gen";
import { Badge } from "../../../ui/display/Badge";
import { formatCount, formatNumber, formatShare } from "../../../ui/display/format";
import styles from "../datasets.module.css";

/** Whether training may start on this, in a line. */
export function Verdict({ report }: { report: XrayReport }): ReactElement {
  const { passed, num_examples, num_tokens, num_trained } = report;
  const share = formatShare(num_tokens === 0 ? null : num_trained / num_tokens);
  return (
    <div className={styles.row} role="status">
      {passed ? (
        <Badge kind="good" sign="✓">
          may be trained on
        </Badge>
      ) : (
        <Badge kind="bad" sign="✕">
          must not be trained on as it is
        </Badge>
      )}
      <p>
        {formatCount(num_examples, "example")}
        {report.is_partial ? " (the first ones)" : ""}, {share} of {formatNumber(num_tokens)} tokens trained
      </p>
    </div>
  );
}
