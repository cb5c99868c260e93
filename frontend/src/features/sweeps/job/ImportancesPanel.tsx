import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { Importances, TuningJobDetail } from "../../../api/schema.gen";
import { importancesQuery } from "../queries";
import { Bars } from "../../../ui/charts/Bars";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { formatCount, formatShare } from "../../../ui/display/format";
import styles from "../sweeps.module.css";

/** The server needs at least this many trials. */
const MIN_TRIALS = 4;
const FEW_TRIALS = 24;

/** The importance of each tuned setting. */
export function ImportancesPanel({ job }: { job: TuningJobDetail }): ReactElement {
  const numSucceeded = job.trials.filter(({ status }) => status === "succeeded").length;
  const found = useQuery(importancesQuery(job.id, numSucceeded));
  if (found.isPending) return <Loading what="Computing importances…" />;
  if (found.isError) return <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />;
  return <ImportanceBars found={found.data} />;
}

function ImportanceBars({ found: { importances, num_trials } }: { found: Importances }): ReactElement {
  const bars = Object.entries(importances).map(([label, value]) => ({ label, value }));
  const [most] = bars;
  if (num_trials < MIN_TRIALS) {
    return (
      <p role="status">
        {formatCount(num_trials, "trial")} succeeded. Importances need at least {MIN_TRIALS}.
      </p>
    );
  }
  if (most === undefined) return <p role="status">No setting made a difference within these ranges.</p>;
  return (
    <>
      <p role="status">
        <strong>
          {most.label} accounts for {formatShare(most.value, 0)} of the importance.
        </strong>
      </p>
      <Bars title="Importance" bars={bars} format={formatShare} />
      <p className={styles.muted}>
        The share of each setting in separating the best 10 % of the trials from the rest (PED-ANOVA), from n ={" "}
        {num_trials} successful trials.{num_trials < FEW_TRIALS ? " With so few trials this is only indicative." : ""}
      </p>
    </>
  );
}
