import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { runQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Page } from "../../../ui/Page";
import { RunView } from "./RunView";

const route = getRouteApi("/runs/$runId");

/** One run, as it happens: figures, curves, log, events, its recipe, its plan and its files. */
export function RunScreen(): ReactElement {
  const { runId } = route.useParams();
  const run = useQuery(runQuery(runId));
  if (run.isPending || run.isError)
    return (
      <Page title={runId}>
        {run.isError ? (
          <ErrorNotice error={run.error} title="The run could not be read" onRetry={() => void run.refetch()} />
        ) : (
          <Loading what="Reading the run…" />
        )}
      </Page>
    );
  // Another run is another page: nothing of the one before is kept.
  return <RunView key={runId} run={run.data} readAt={run.dataUpdatedAt} />;
}
