import type { ReactElement } from "react";
import type { Comparison, PairedDifference } from "../../../api/schema.gen";
import { Interval } from "../../../ui/charts/Interval";
import { StackedBar } from "../../../ui/charts/StackedBar";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { formatBarePoints, formatP, significanceText } from "../shared/format";
import { Badge } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { formatNumber, formatShare } from "../../../ui/display/format";
import styles from "../evaluations.module.css";

const POINT_SCALE = [-1, 1] as const;

/** The difference between two evaluations, in numbers and as a sentence. */
export function ComparisonSummary({ comparison }: { comparison: Comparison }): ReactElement {
  const { overall, by_section } = comparison;
  const sections = Object.entries(by_section);
  return (
    <>
      {comparison.is_same_protocol ? null : <DifferentProtocols differences={comparison.protocol_differences} />}
      <Card title={`${comparison.other_name} vs ${comparison.base_name}`}>
        {overall ? (
          <Overall overall={overall} />
        ) : (
          <p>No item was scored in both evaluations, so they cannot be compared.</p>
        )}
        <p className={styles.muted}>{pairingText(comparison)}</p>
      </Card>
      {sections.length > 1 ? (
        <Card title="By section">
          <PlainTable
            name="Differences by section"
            columns={[
              { header: "Section" },
              { header: "Base", align: "end" },
              { header: "Other", align: "end" },
              { header: "Difference (points)" },
              { header: "Lost", align: "end" },
              { header: "Gained", align: "end" },
              { header: "p-value" },
            ]}
            rows={sections.map(([name, paired]) => ({ key: name, cells: [name, ...pairedCells(paired)] }))}
          />
        </Card>
      ) : null}
    </>
  );
}

function Overall({ overall }: { overall: PairedDifference }): ReactElement {
  return (
    <>
      <p role="status">
        <strong>{significanceText(overall)}</strong>
      </p>
      <p className={styles.row}>
        <span>
          {formatShare(overall.base)} → {formatShare(overall.other)}, in points:
        </span>
        <span className={styles.difference}>
          <Difference paired={overall} />
        </span>
      </p>
      <StackedBar
        label="Paired items"
        parts={[
          { name: "Correct in both", value: overall.num_both_right },
          { name: "Lost: correct → wrong", value: overall.num_lost },
          { name: "Gained: wrong → correct", value: overall.num_gained },
          { name: "Wrong in both", value: overall.num_both_wrong },
        ]}
        format={formatNumber}
      />
    </>
  );
}

function Difference({ paired: { difference, low, high, n } }: { paired: PairedDifference }): ReactElement {
  return <Interval value={difference} low={low} high={high} n={n} format={formatBarePoints} scale={POINT_SCALE} />;
}

function pairedCells(paired: PairedDifference) {
  const { base, other, num_lost, num_gained, p_value } = paired;
  const counts = [formatNumber(num_lost), formatNumber(num_gained), formatP(p_value)];
  return [formatShare(base), formatShare(other), <Difference key="difference" paired={paired} />, ...counts];
}

function DifferentProtocols({ differences }: { differences: readonly string[] }): ReactElement {
  return (
    <Card title="Different protocols">
      <p>
        <Badge kind="warn" sign="⚠">
          not comparable
        </Badge>{" "}
        The evaluations differ in more than the model (base / other):
      </p>
      <ul>
        {differences.map((difference) => (
          <li key={difference} className={styles.text}>
            <code>{difference}</code>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function pairingText({ num_paired, num_only_base, num_only_other, overall }: Comparison): string {
  const parts = [
    `${formatNumber(num_paired)} items paired`,
    `${formatNumber(overall?.num_unscored ?? 0)} of them unscored in one`,
    `${formatNumber(num_only_base)} only in the base`,
    `${formatNumber(num_only_other)} only in the other`,
  ];
  return `${parts.join("; ")}.`;
}
