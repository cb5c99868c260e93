import type { ReactElement } from "react";
import type { XrayFinding, XrayReport } from "../../../api/schema.gen";
import { Button } from "../../../ui/forms/Button";
import { Badge, type BadgeKind } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { formatNumber, formatShare } from "../../../ui/display/format";
import styles from "./xray.module.css";

const SIGNS: Record<XrayFinding["severity"], { kind: BadgeKind; sign: string }> = {
  error: { kind: "bad", sign: "✕" },
  warning: { kind: "warn", sign: "!" },
  info: { kind: "info", sign: "i" },
};

interface FindingsProps {
  report: XrayReport;
  onExample: (index: number) => void;
}

/** The findings to review before training, with example rows. */
export function Findings({ report, onExample }: FindingsProps): ReactElement | null {
  if (report.findings.length === 0) return null;
  return (
    <Card title="Findings">
      <ul className={styles.findings}>
        {report.findings.map((finding) => (
          <li key={finding.code}>
            <p>
              <Badge {...SIGNS[finding.severity]}>{finding.severity}</Badge> <strong>{finding.code}</strong>{" "}
              {formatNumber(finding.count)} of {formatNumber(report.num_examples)} ({formatShare(finding.share)})
            </p>
            <p>{finding.message}</p>
            <p className={styles.next}>Next step: {finding.next_step}</p>
            <div className={styles.examples}>
              {finding.examples.map((example) => (
                <Button
                  key={example}
                  kind="quiet"
                  onClick={() => {
                    onExample(example);
                  }}
                >
                  Example {formatNumber(example)}
                </Button>
              ))}
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}
