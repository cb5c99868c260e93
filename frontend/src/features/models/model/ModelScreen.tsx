import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { modelQuery } from "../queries";
import type { ModelDetail } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { buttonClass } from "../../../ui/forms/Button";
import { Page } from "../../../ui/layout/Page";
import { Card } from "../../../ui/display/Card";
import { AliasesCard } from "./AliasesCard";
import { VersionTable } from "./VersionTable";

const route = getRouteApi("/models/$model");

/** One model with its versions and aliases. */
export function ModelScreen(): ReactElement {
  const { model } = route.useParams();
  const found = useQuery(modelQuery(model));
  if (found.isPending || found.isError)
    return (
      <Page title={model}>
        {found.isError ? (
          <ErrorNotice error={found.error} title="Could not load the model" onRetry={() => void found.refetch()} />
        ) : (
          <Loading what="Loading model…" />
        )}
      </Page>
    );
  return <ModelView model={found.data} />;
}

function ModelView({ model }: { model: ModelDetail }): ReactElement {
  const { data: session } = useQuery(sessionQuery);
  const copied = snippets({ cli: `tunix-rt models show ${model.name}`, path: `/api/models/${model.name}` });
  const newest = model.versions[0];
  return (
    <Page
      title={model.name}
      actions={
        <>
          <CopyAs snippets={copied} />
          {newest === undefined ? null : (
            <Link to="/chat" search={{ model: `${model.name}:${newest.version}` }} className={buttonClass("primary")}>
              Chat with the latest
            </Link>
          )}
        </>
      }
    >
      {model.description ? <p>{model.description}</p> : null}
      <Card title="Versions">
        {newest === undefined ? (
          <p>No versions yet. Register the weights of a run.</p>
        ) : (
          <VersionTable versions={model.versions} />
        )}
      </Card>
      {newest === undefined ? null : <AliasesCard model={model} scope={session?.scope ?? "read"} />}
    </Page>
  );
}
