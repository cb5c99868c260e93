import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Run } from "../../api/schema.gen";
import { Sparkline } from "../../ui/charts/Sparkline";
import { Card } from "../../ui/display/Card";
import { formatAgo, formatNumber, shortRunName } from "../../ui/display/format";
import { StatusBadge } from "../../ui/display/StatusBadge";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Loading } from "../../ui/feedback/Loading";
import { listRuns, sparklinesQuery } from "../runs/queries";
import styles from "./home.module.css";

const POLL_MS = 2_000;
const NUM_SHOWN = 5;

/** The latest runs with live status. */
export function RunningCard(): ReactElement {
  const runs = useQuery({
    queryKey: ["runs", "newest"],
    queryFn: () => listRuns({ limit: NUM_SHOWN }),
    refetchInterval: POLL_MS,
  });
  return (
    <Card title="Latest runs">
      {runs.isPending ? <Loading what="Loading runs…" /> : null}
      {runs.isError ? <ErrorNotice error={runs.error} onRetry={() => void runs.refetch()} /> : null}
      {runs.data?.data.length === 0 ? <p>No runs yet.</p> : null}
      {runs.data === undefined ? null : <RunLines runs={runs.data.data} />}
    </Card>
  );
}

function RunLines({ runs }: { runs: Run[] }): ReactElement {
  const { data } = useQuery({ ...sparklinesQuery(runs), placeholderData: (previous) => previous });
  const lines = new Map(data?.data.map((line) => [line.run_id, line]));
  return (
    <ul className={styles.runs}>
      {runs.map((run) => (
        <li key={run.run_id}>
          <StatusBadge status={run.status} isHeld={run.is_held} />
          <Link to="/runs/$runId" params={{ runId: run.run_id }} title={run.run_id}>
            {shortRunName(run.run_id)}
          </Link>
          <Sparkline label={`Loss of ${run.run_id}`} values={lines.get(run.run_id)?.losses ?? []} width={72} />
          <small>
            {lines.has(run.run_id) ? `step ${formatNumber(lines.get(run.run_id)?.steps.at(-1))}, ` : ""}
            {formatAgo(run.created_at)}
          </small>
        </li>
      ))}
    </ul>
  );
}
