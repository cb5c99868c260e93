import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { QueueState, RunDetail } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { Command } from "../../../ui/copy/Command";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Facts } from "../../../ui/display/Facts";
import { formatAgo, formatTime } from "../../../ui/display/format";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { LogView } from "../../../ui/logs/LogView";
import { withChanges } from "../../../ui/navigation/search";
import { useShortcuts } from "../../../ui/navigation/shortcuts";
import { Page } from "../../../ui/layout/Page";
import { Tabs } from "../../../ui/layout/Tabs";
import { isActive, queueQuery, runQuery } from "../queries";
import { type LiveRun, logLines, useLiveRun } from "./live";
import styles from "./run.module.css";
import { RunActions } from "./RunActions";
import { RunCurves } from "./RunCurves";
import { RunEvents } from "./RunEvents";
import { RunFiles } from "./RunFiles";
import { RunNextSteps } from "./RunNextSteps";
import { RunPlan } from "./RunPlan";
import { RunRecipe } from "./RunRecipe";
import { RunStatusCard } from "./RunStatusCard";
import { RUN_TABS, type RunTab, type RunTabs } from "./tabs";

const route = getRouteApi("/runs/$runId");

/** One run, live: status, curves, log, events, recipe, plan and files. */
export function RunScreen(): ReactElement {
  const { runId } = route.useParams();
  const run = useQuery(runQuery(runId));
  if (run.isPending || run.isError)
    return (
      <Page title={runId}>
        {run.isError ? (
          <ErrorNotice error={run.error} title="Could not load the run" onRetry={() => void run.refetch()} />
        ) : (
          <Loading what="Loading run…" />
        )}
      </Page>
    );
  // The key resets all state when another run is opened.
  return <RunView key={runId} run={run.data} readAt={run.dataUpdatedAt} />;
}

/** Notices: why the run failed, or why it has not started. */
export function RunNotices({ run }: { run: RunDetail }): ReactElement | null {
  if (run.failure) return <Failure run={run} />;
  return run.status === "queued" && !run.is_held ? <Waiting run={run} /> : null;
}

function Failure({ run }: { run: RunDetail }): ReactElement {
  return (
    <section role="alert" className={styles.failure}>
      <h2>{run.exit_code == null ? "Run failed" : `Run failed with exit code ${run.exit_code}`}</h2>
      <p>{run.failure?.detail}</p>
      <p>Next step: {run.failure?.next_step}</p>
    </section>
  );
}

function Waiting({ run }: { run: RunDetail }): ReactElement | null {
  const queue = useQuery(queueQuery);
  const reason = queue.data && waitReason(run, queue.data);
  if (!reason) return null;
  return (
    <section role="status" className={styles.waiting}>
      <p>{reason.text}</p>
      {reason.command === undefined ? null : <Command>{reason.command}</Command>}
    </section>
  );
}

function waitReason(run: RunDetail, queue: QueueState): { text: string; command?: string } | null {
  if (!queue.workers.some(({ status }) => status === "active"))
    return { text: "No worker is running. Start one:", command: "tunix-rt worker" };
  if (queue.is_paused) return { text: "The queue is paused. Resume it:", command: "tunix-rt queue resume" };
  if (run.not_before != null) return { text: `It will be retried at ${formatTime(run.not_before)}.` };
  return null;
}

/** The page of a run. */
function RunView({ run, readAt }: { run: RunDetail; readAt: number }): ReactElement {
  const { tab = "curves" } = route.useSearch();
  const navigate = route.useNavigate();
  const { live, state, error } = useLiveRun(run, readAt);
  const session = useQuery(sessionQuery);
  const canWrite = session.data !== undefined && session.data.scope !== "read";
  const choose = (chosen: RunTab): void => {
    void navigate({ search: withChanges<RunTabs>({ tab: chosen === "curves" ? undefined : chosen }), replace: true });
  };
  useShortcuts(
    RUN_TABS.map(({ key, label }, index) => ({
      keys: String(index + 1),
      label: `Run: ${label.toLowerCase()}`,
      run: () => {
        choose(key);
      },
    })),
  );
  return (
    <Page
      title={run.run_id}
      aside={
        <>
          <StatusBadge status={run.status} isHeld={run.is_held} />
          {state === "waiting" ? <span role="status">reconnecting…</span> : null}
        </>
      }
      actions={
        <>
          <CopyAs
            snippets={snippets({ cli: `tunix-rt runs show ${run.run_id}`, path: `/api/tunix/runs/${run.run_id}` })}
          />
          <RunActions run={run} scope={session.data?.scope ?? "read"} />
        </>
      }
    >
      <RunNotices run={run} />
      {error ? <ErrorNotice error={error} title="Live updates failed" /> : null}
      <RunStatusCard run={run} live={live} />
      {run.status === "succeeded" ? <RunNextSteps runId={run.run_id} canWrite={canWrite} /> : null}
      <Facts facts={originOf(run)} />
      <Tabs label="Run sections" tabs={RUN_TABS} chosen={tab} onChoose={choose}>
        <div className={styles.panel}>
          <TabContent tab={tab} run={run} live={live} />
        </div>
      </Tabs>
    </Page>
  );
}

function TabContent({ tab, run, live }: { tab: RunTab; run: RunDetail; live: LiveRun }): ReactElement {
  switch (tab) {
    case "curves":
      return <RunCurves live={live} />;
    case "log":
      return <LogView name={`Log of ${run.run_id}`} lines={logLines(live)} isLive={isActive(run.status)} />;
    case "events":
      return <RunEvents live={live} />;
    case "recipe":
      return <RunRecipe run={run} />;
    case "plan":
      return <RunPlan run={run} live={live} />;
    case "files":
      return <RunFiles run={run} />;
  }
}

function originOf(run: RunDetail): Record<string, ReactElement | string> {
  return {
    Recipe: run.recipe_name,
    Model: run.model,
    Dataset: (
      <Link to="/datasets/$datasetKey" params={{ datasetKey: run.dataset }}>
        {run.dataset}
      </Link>
    ),
    Mode: run.mode,
    Engine: `${run.engine}, device ${run.device}`,
    Attempts: run.executor === "direct" ? "unmanaged" : String(run.num_attempts),
    Created: <time title={formatTime(run.created_at)}>{formatAgo(run.created_at)}</time>,
  };
}
