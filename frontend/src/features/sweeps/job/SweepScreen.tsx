import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { TuningJobDetail } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import { Tabs } from "../../../ui/layout/Tabs";
import { jobQuery } from "../queries";
import type { Change, JOB_TABS, JobSearch } from "../search";
import { BestPanel } from "./BestPanel";
import { ImportancesPanel } from "./ImportancesPanel";
import { SpecPanel } from "./SpecPanel";
import { SweepActions } from "./SweepActions";
import { SweepStatusCard } from "./SweepStatusCard";
import { TrialsPanel } from "./TrialsPanel";

const route = getRouteApi("/tuning/$jobId");

/** One sweep: status, trials, importances and best recipe. */
export function SweepScreen(): ReactElement {
  const { jobId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const job = useQuery(jobQuery(jobId));
  const change: Change<JobSearch> = (changes) => {
    void navigate({ search: withChanges<JobSearch>(changes), replace: true });
  };
  if (job.data !== undefined) return <SweepView job={job.data} search={search} change={change} />;
  return (
    <Page title="Sweep">
      {job.isError ? (
        <ErrorNotice error={job.error} title="Could not load the sweep" onRetry={() => void job.refetch()} />
      ) : (
        <Loading what="Loading sweep…" />
      )}
    </Page>
  );
}

interface SweepViewProps {
  job: TuningJobDetail;
  search: JobSearch;
  change: Change<JobSearch>;
}

const TABS: readonly { key: (typeof JOB_TABS)[number]; label: string }[] = [
  { key: "trials", label: "Trials" },
  { key: "importances", label: "Importances" },
  { key: "best", label: "Best recipe" },
  { key: "spec", label: "Search space" },
];

function SweepView({ job, search, change }: SweepViewProps): ReactElement {
  const session = useQuery(sessionQuery);
  const tab = search.tab ?? "trials";
  const canWrite = session.data !== undefined && session.data.scope !== "read";
  return (
    <Page
      title={job.name}
      aside={<StatusBadge status={job.status} />}
      actions={
        <>
          <CopyAs snippets={jobSnippets(job.id, tab)} />
          <SweepActions job={job} scope={session.data?.scope ?? "read"} />
        </>
      }
    >
      <SweepStatusCard job={job} />
      <Tabs
        label="Sweep sections"
        tabs={TABS}
        chosen={tab}
        onChoose={(key) => {
          change({ tab: key === "trials" ? undefined : key });
        }}
      >
        {tab === "trials" ? <TrialsPanel job={job} search={search} change={change} /> : null}
        {tab === "importances" ? <ImportancesPanel job={job} /> : null}
        {tab === "best" ? <BestPanel job={job} canWrite={canWrite} /> : null}
        {tab === "spec" ? <SpecPanel job={job} /> : null}
      </Tabs>
    </Page>
  );
}

function jobSnippets(jobId: string, tab: (typeof JOB_TABS)[number]) {
  const path = `/api/tuning/jobs/${jobId}`;
  if (tab === "best") return snippets({ cli: `tunix-rt tune best ${jobId}`, path: `${path}/best` });
  return snippets({ cli: `tunix-rt tune show ${jobId}`, path: tab === "importances" ? `${path}/importances` : path });
}
