import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { isActive } from "../queries";
import type { RunDetail } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { withChanges } from "../../../ui/navigation/search";
import { useShortcuts } from "../../../ui/navigation/shortcuts";
import { Page } from "../../../ui/Page";
import { Tabs } from "../../../ui/Tabs";
import { Facts } from "../../../ui/display/Facts";
import { formatAgo, formatTime } from "../../../ui/display/format";
import { LogView } from "../../../ui/logs/LogView";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import { type LiveRun, logLines } from "./live";
import styles from "./run.module.css";
import { RunActions } from "./RunActions";
import { RunCurves } from "./RunCurves";
import { RunEvents } from "./RunEvents";
import { RunStatusCard } from "./RunStatusCard";
import { RunFiles } from "./RunFiles";
import { RunNextSteps } from "./RunNextSteps";
import { RunNotices } from "./RunNotices";
import { RunPlan } from "./RunPlan";
import { RunRecipe } from "./RunRecipe";
import { RUN_TABS, type RunTab, type RunTabs } from "./tabs";
import { useLiveRun } from "./useLiveRun";

const route = getRouteApi("/runs/$runId");

/** The page of a run. */
export function RunView({ run, readAt }: { run: RunDetail; readAt: number }): ReactElement {
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
