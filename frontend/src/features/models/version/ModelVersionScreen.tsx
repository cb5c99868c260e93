import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { versionQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Page } from "../../../ui/Page";
import { VersionView } from "./VersionView";

const route = getRouteApi("/models/versions/$versionId");

/** One version of a model: where it comes from, how good it is, its files, its card and its exports. */
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
            title="The version could not be read"
            onRetry={() => void version.refetch()}
          />
        ) : (
          <Loading what="Reading the version…" />
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
