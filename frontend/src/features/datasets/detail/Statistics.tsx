import type { ReactElement } from "react";
import type { DatasetManifest } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatAgo, formatBytes, formatNumber, formatTime, formatValue } from "../../../ui/display/format";
import styles from "../datasets.module.css";
import { type DataColumn, DataTable } from "../DataTable";
import { Plots } from "./Plots";
import { SplitSelect } from "./SplitSelect";

interface StatisticsProps {
  manifest: DatasetManifest;
  split: string;
  onSplit: (split: string) => void;
}

type Split = DatasetManifest["splits"][number];

const SPLIT_COLUMNS: readonly DataColumn<Split>[] = [
  { header: "Split", cell: ({ name }) => name },
  { header: "Rows", isNumber: true, cell: ({ statistics }) => formatNumber(statistics.num_rows) },
  { header: "Questions", isNumber: true, cell: ({ statistics }) => formatNumber(statistics.num_prompts) },
  {
    header: "Multiple answers",
    isNumber: true,
    cell: ({ statistics }) => formatNumber(statistics.num_prompts_with_several_answers),
  },
  { header: "Mean steps", isNumber: true, cell: ({ statistics }) => formatValue(statistics.steps?.mean) },
  { header: "Median chars", isNumber: true, cell: ({ statistics }) => formatNumber(statistics.chars?.p50) },
  { header: "p95 chars", isNumber: true, cell: ({ statistics }) => formatNumber(statistics.chars?.p95) },
  { header: "Max chars", isNumber: true, cell: ({ statistics }) => formatNumber(statistics.chars?.max) },
  { header: "Size", isNumber: true, cell: ({ num_bytes }) => formatBytes(num_bytes) },
];

/** Counts and plots of the dataset. */
export function Statistics({ manifest, split, onSplit }: StatisticsProps): ReactElement {
  return (
    <div className={styles.stack}>
      {manifest.warnings?.map((warning) => (
        <p key={warning} role="note">
          ⚠ {warning}
        </p>
      ))}
      <Card title="Summary">
        <Facts
          facts={{
            Rows: formatNumber(manifest.num_rows),
            "Traces considered": formatNumber(manifest.num_considered),
            Created: <time title={formatTime(manifest.created_at)}>{formatAgo(manifest.created_at)}</time>,
            Licence: manifest.spec.license,
            "Content hash": (
              <span className={styles.hash} title={manifest.content_hash}>
                {manifest.content_hash.slice(0, 16)}
              </span>
            ),
          }}
        />
        <DataTable name="Splits" columns={SPLIT_COLUMNS} rows={manifest.splits} rowKey={({ name }) => name} />
      </Card>
      <div className={styles.row}>
        <SplitSelect manifest={manifest} split={split} onSplit={onSplit} />
      </div>
      <Plots manifest={manifest} split={split} />
    </div>
  );
}
