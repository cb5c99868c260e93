import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { versionQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Page } from "../../../ui/layout/Page";
import { VersionView } from "./VersionView";

const route = getRouteApi("/models/versions/$versionId");

/** One model version: lineage, evaluations, files, card and exports. */
export function ModelVersionScreen(): ReactElement {
  const { versionId } = route.useParams();
  const { tab = "overview" } = route.useSearch();
  const navigate = route.useNavigate();
  const version = useQuery(versionQuery(versionId));
  if (version.isPending || version.isError)
    return (
      <Page title="Model version">
        {version.isError ? (
          <ErrorNotice
            error={version.error}
            title="Could not load the version"
            onRetry={() => void version.refetch()}
          />
        ) : (
          <Loading what="Loading version…" />
        )}
      </Page>
    );
  return (
    <VersionView
      key={versionId}
      version={version.data}
      tab={tab}
      onTab={(chosen) => void navigate({ search: chosen === "overview" ? {} : { tab: chosen }, replace: true })}
    />
  );
}
