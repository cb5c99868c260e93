import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { servedModelsQuery } from "./queries";
import type { ServedModel } from "../../api/schema.gen";
import { Command } from "../../ui/copy/Command";
import { CopyAs } from "../../ui/copy/CopyAs";
import { Empty } from "../../ui/feedback/Empty";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Loading } from "../../ui/feedback/Loading";
import { buttonClass } from "../../ui/forms/Button";
import { withChanges } from "../../ui/navigation/search";
import { Page } from "../../ui/layout/Page";
import { BlindComparison } from "./blind/BlindComparison";
import { ChatSettings } from "./ChatSettings";
import type { ChatSearch } from "./search";
import { chatSnippets } from "./settings";
import { Conversation } from "./Conversation";

const route = getRouteApi("/chat");

/** Chat with a model, or compare two models in a blind test. */
export function ChatScreen(): ReactElement {
  const served = useQuery(servedModelsQuery);
  if (served.isPending || served.isError || served.data.length === 0)
    return (
      <Page title="Chat" about="Chat with a trained model. Its reasoning is shown separately from its answer.">
        {served.isPending ? <Loading what="Loading models…" /> : null}
        {served.isError ? (
          <ErrorNotice error={served.error} title="Could not load the models" onRetry={() => void served.refetch()} />
        ) : null}
        {served.data?.length === 0 ? <NoModels /> : null}
      </Page>
    );
  return <Chat served={served.data} />;
}

function Chat({ served }: { served: ServedModel[] }): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const model = search.model ?? served[0]?.id ?? "";
  const other = search.other ?? served.find(({ root }) => root !== rootOf(served, model))?.id ?? model;
  const isBlind = search.blind ?? false;
  return (
    <Page title="Chat" actions={<CopyAs snippets={chatSnippets(model, "", search)} />}>
      <ChatSettings
        served={served}
        settings={{ ...search, model, other }}
        onChange={(changes) => void navigate({ search: withChanges<ChatSearch>(changes), replace: true })}
      />
      {isBlind ? (
        // The key resets the comparison when the models change.
        <BlindComparison
          key={`${model} ${other}`}
          models={[rootOf(served, model), rootOf(served, other)]}
          decoding={search}
        />
      ) : (
        <Conversation key={model} model={model} decoding={search} />
      )}
    </Page>
  );
}

/** The weights behind a name. A name that is not listed may still be known to the server. */
function rootOf(served: readonly ServedModel[], name: string): string {
  return served.find(({ id }) => id === name)?.root ?? name;
}

function NoModels(): ReactElement {
  return (
    <Empty
      title="No models yet"
      actions={
        <Link to="/launch" className={buttonClass("primary")}>
          Train a model
        </Link>
      }
    >
      <p>Every successful run and every registered model is available here. Training a tiny one takes a minute:</p>
      <Command>tunix-rt runs submit smoke_tiny</Command>
    </Empty>
  );
}
