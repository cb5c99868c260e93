import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { datasetQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import { DatasetView } from "./DatasetView";
import type { DatasetSearch } from "./search";

const route = getRouteApi("/datasets/$datasetKey");

/** One dataset: its statistics, rows, origin and eval set overlap. */
export function DatasetScreen(): ReactElement {
  const { datasetKey } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const dataset = useQuery(datasetQuery(datasetKey));

  if (dataset.isPending) return <Page title={datasetKey}>{<Loading what="Loading dataset…" />}</Page>;
  if (dataset.isError) {
    return (
      <Page title={datasetKey}>
        <ErrorNotice error={dataset.error} title="Could not load the dataset" onRetry={() => void dataset.refetch()} />
      </Page>
    );
  }
  return (
    <DatasetView
      manifest={dataset.data}
      search={search}
      onChange={(changes) => {
        void navigate({ search: withChanges<DatasetSearch>(changes), replace: true });
      }}
    />
  );
}
