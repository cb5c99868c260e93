import type { ReactElement } from "react";
import type { PartCount, XrayReport } from "../../../api/schema.gen";
import { StackedBar } from "../../../ui/charts/StackedBar";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatNumber, formatShare } from "../../../ui/display/format";
import { type DataColumn, DataTable } from "../DataTable";
import { PART_NAMES } from "./parts";

const PARTS: readonly DataColumn<PartCount>[] = [
  { header: "Part", cell: ({ part }) => PART_NAMES[part] },
  { header: "Trained tokens", isNumber: true, cell: ({ num_trained }) => formatNumber(num_trained) },
  { header: "Masked tokens", isNumber: true, cell: ({ num_masked }) => formatNumber(num_masked) },
];

/** How many tokens are trained, masked or padding. */
export function XraySummary({ report }: { report: XrayReport }): ReactElement {
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
