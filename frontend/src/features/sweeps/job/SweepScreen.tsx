import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { jobQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/Page";
import { SweepView } from "./SweepView";
import type { Change, JobSearch } from "../search";

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
