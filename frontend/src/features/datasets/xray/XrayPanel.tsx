import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { PartCount, XrayReport } from "../../../api/schema.gen";
import { StackedBar } from "../../../ui/charts/StackedBar";
import { Badge } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatCount, formatNumber, formatShare } from "../../../ui/display/format";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import styles from "../datasets.module.css";
import { type DataColumn, DataTable } from "../DataTable";
import { xrayQuery } from "../queries";
import { ExamplePicker } from "./ExamplePicker";
import { Findings } from "./Findings";
import { PART_NAMES } from "./parts";
import { queryOf } from "./search";
import { TokenRow } from "./TokenRow";
import type { XrayOptionsProps } from "./XrayOptions";

/** The report: findings, token counts, and one example token by token. */
export function XrayPanel({ datasetKey, search, onChange }: XrayOptionsProps): ReactElement {
  const xray = useQuery(xrayQuery(datasetKey, queryOf(search)));
  const index = search.index ?? 0;
  const onIndex = (next: number): void => {
    onChange({ index: next === 0 ? undefined : next });
  };

  if (xray.isPending) return <Loading what="Tokenizing the examples…" />;
  if (xray.isError) {
    return <ErrorNotice error={xray.error} title="Could not compute the X-ray" onRetry={() => void xray.refetch()} />;
  }
  const report = xray.data;
  return (
    <div className={styles.stack} aria-busy={xray.isPlaceholderData}>
      <Verdict report={report} />
      <Findings report={report} onExample={onIndex} />
      <ExamplePicker index={index} numExamples={report.num_examples} onIndex={onIndex} />
      {report.rows.map((row, position) => (
        <TokenRow key={position} row={row} shown={index} />
      ))}
      <XraySummary report={report} />
    </div>
  );
}

/** A one-line verdict on whether the dataset can be trained on. */
function Verdict({ report }: { report: XrayReport }): ReactElement {
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

const PARTS: readonly DataColumn<PartCount>[] = [
  { header: "Part", cell: ({ part }) => PART_NAMES[part] },
  { header: "Trained tokens", isNumber: true, cell: ({ num_trained }) => formatNumber(num_trained) },
  { header: "Masked tokens", isNumber: true, cell: ({ num_masked }) => formatNumber(num_masked) },
];

/** How many tokens are trained, masked or padding. */
function XraySummary({ report }: { report: XrayReport }): ReactElement {
  const { num_tokens, num_trained, num_padding, num_examples } = report;
  return (
    <Card title="Token summary">
      <Facts
        facts={{
          Examples: `${formatNumber(num_examples)}${report.is_partial ? " (first ones only)" : ""}`,
          Rows: formatNumber(report.num_rows),
          "Tokens trained": `${formatShare(num_tokens === 0 ? null : num_trained / num_tokens)} of ${formatNumber(num_tokens)}`,
          "Fill ratio": formatShare(report.fill_ratio),
          "Longest example": `${formatNumber(report.longest_example)} tokens`,
          Tokenizer: <span title={report.tokenizer_fingerprint}>{report.tokenizer}</span>,
          Template: <span title={report.template_sha256}>{report.template}</span>,
        }}
      />
      <StackedBar
        label="Tokens of all rows by state"
        parts={[
          { name: "trained", value: num_trained },
          { name: "masked", value: num_tokens - num_trained },
          { name: "padding", value: num_padding },
        ]}
        format={formatNumber}
      />
      <DataTable name="Tokens by part" columns={PARTS} rows={report.parts} rowKey={({ part }) => part} />
    </Card>
  );
}
