import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { Importances, TuningJobDetail } from "../../../api/schema.gen";
import { importancesQuery } from "../queries";
import { Bars } from "../../../ui/charts/Bars";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { formatCount, formatShare } from "../../../ui/display/format";
import styles from "../sweeps.module.css";

/** The service computes nothing from fewer. */
const MIN_TRIALS = 4;
const FEW_TRIALS = 24;

/** How much each searched key decided which trials were good. */
export function ImportancesPanel({ job }: { job: TuningJobDetail }): ReactElement {
  const numSucceeded = job.trials.filter(({ status }) => status === "succeeded").length;
  const found = useQuery(importancesQuery(job.id, numSucceeded));
  if (found.isPending) return <Loading what="Computing what matters…" />;
  if (found.isError) return <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />;
  return <ImportanceBars found={found.data} />;
}

function ImportanceBars({ found: { importances, num_trials } }: { found: Importances }): ReactElement {
  const bars = Object.entries(importances).map(([label, value]) => ({ label, value }));
  const [most] = bars;
  if (num_trials < MIN_TRIALS) {
    return (
      <p role="status">
        {formatCount(num_trials, "trial")} succeeded. From {MIN_TRIALS} on it can be said which settings matter.
      </p>
    );
  }
  if (most === undefined) return <p role="status">No trial stands out: within these ranges nothing mattered.</p>;
  return (
    <>
      <p role="status">
        <strong>
          {most.label} explains {formatShare(most.value, 0)} of what makes a trial one of the best.
        </strong>
      </p>
      <Bars title="Importance" bars={bars} format={formatShare} />
      <p className={styles.muted}>
        The share of each setting in telling the best tenth of the trials from the rest (PED-ANOVA), from n ={" "}
        {num_trials} trials that succeeded.{num_trials < FEW_TRIALS ? " With so few it is a hint, no proof." : ""}
      </p>
    </>
  );
}
