import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { xrayQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import styles from "../datasets.module.css";
import { ExamplePicker } from "./ExamplePicker";
import { Findings } from "./Findings";
import { queryOf } from "./search";
import { TokenRow } from "./TokenRow";
import { Verdict } from "./Verdict";
import type { XrayOptionsProps } from "./XrayOptions";
import { XraySummary } from "./XraySummary";

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
