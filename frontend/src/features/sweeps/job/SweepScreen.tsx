import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { jobQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/Page";
import { JobView } from "./SweepView";
import type { Change, JobSearch } from "../search";

const route = getRouteApi("/tuning/$jobId");

/** One sweep: where it stands, its trials, which settings matter, and the best recipe. */
export function TuningJobScreen(): ReactElement {
  const { jobId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const job = useQuery(jobQuery(jobId));
  const change: Change<JobSearch> = (changes) => {
    void navigate({ search: withChanges<JobSearch>(changes), replace: true });
  };
  if (job.data !== undefined) return <JobView job={job.data} search={search} change={change} />;
  return (
    <Page title="Sweep">
      {job.isError ? (
        <ErrorNotice error={job.error} title="The sweep could not be read" onRetry={() => void job.refetch()} />
      ) : (
        <Loading what="Reading the sweep…" />
      )}
    </Page>
  );
}
