import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { Bin, DatasetHistograms, DatasetManifest } from "../../../api/schema.gen";
import { Bars } from "../../../ui/charts/Bars";
import { formatCount, formatNumber, formatValue } from "../../../ui/display/format";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import styles from "../datasets.module.css";
import { histogramsQuery } from "../queries";

/** Histograms of the rows of a split. */
export function Plots({ manifest, split }: { manifest: DatasetManifest; split: string }): ReactElement {
  const histograms = useQuery(histogramsQuery(manifest.dataset_key, split));
  const statistics = manifest.splits.find(({ name }) => name === split)?.statistics;
  return (
    <div className={styles.columns}>
      {histograms.isPending ? <Loading what="Counting steps and lengths…" /> : null}
      {histograms.isError ? (
        <ErrorNotice
          error={histograms.error}
          title="Could not count the rows"
          onRetry={() => void histograms.refetch()}
        />
      ) : null}
      {histograms.data ? <Histograms histograms={histograms.data} /> : null}
      {statistics ? (
        <>
          <Bars title="Rows by category" bars={labelBars(statistics.categories)} />
          <Bars title="Rows by difficulty" bars={labelBars(statistics.difficulties)} />
          <Bars title="Rows by source" bars={labelBars(statistics.sources)} />
        </>
      ) : null}
    </div>
  );
}

function Histograms({ histograms }: { histograms: DatasetHistograms }): ReactElement {
  const { steps, chars, scores, num_rows, num_unscored } = histograms;
  if (num_rows === 0) return <p>This split is empty.</p>;
  return (
    <>
      <Bars title="Rows by number of steps" bars={integerBars(steps)} />
      <Bars title="Rows by length in characters" bars={integerBars(chars)} />
      <div className={styles.stack}>
        {scores.length === 0 ? null : <Bars title="Rows by linter score (0 to 100)" bars={scoreBars(scores)} />}
        {num_unscored === 0 ? null : (
          <p className={styles.muted}>
            {num_unscored === num_rows ? "No row has" : `${formatCount(num_unscored, "row")} without`} a linter score{" "}
            {num_unscored === num_rows ? "" : ` (of ${formatNumber(num_rows)})`}: the trace has not been linted, or is
            not in the store.
          </p>
        )}
      </div>
    </>
  );
}

interface Bar {
  label: string;
  value: number;
}

/** Bins of integers: `3`, or `200–399`. */
function integerBars(bins: readonly Bin[]): Bar[] {
  return bins.map(({ low, high, count }) => ({
    label: high - low === 1 ? formatNumber(low) : `${formatNumber(low)}–${formatNumber(high - 1)}`,
    value: count,
  }));
}

/** Bins of a score: `90 to 95`. The maximum score has its own bin. */
function scoreBars(bins: readonly Bin[]): Bar[] {
  return bins.map(({ low, high, count }) => ({
    label: low === 100 ? "100" : `${formatValue(low)} to ${formatValue(high)}`,
    value: count,
  }));
}

/** Names by frequency, in the server's order. */
function labelBars(counts: Readonly<Record<string, number>>): Bar[] {
  return Object.entries(counts).map(([label, value]) => ({ label, value }));
}
