import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { runQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Page } from "../../../ui/Page";
import { RunView } from "./RunView";

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
