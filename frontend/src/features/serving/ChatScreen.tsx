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
import { Page } from "../../ui/Page";
import { Blind } from "./blind/Blind";
import { ChatSettings } from "./ChatSettings";
import type { ChatSearch } from "./search";
import { chatSnippets } from "./settings";
import { Talk } from "./Talk";

const route = getRouteApi("/chat");

/** Talk to a model, or let two answer the same question without knowing which is which. */
export function ChatScreen(): ReactElement {
  const served = useQuery(servedModelsQuery);
  if (served.isPending || served.isError || served.data.length === 0)
    return (
      <Page title="Chat" about="Talk to a trained model; its reasoning stands apart from its answer.">
        {served.isPending ? <Loading what="Looking for models…" /> : null}
        {served.isError ? (
          <ErrorNotice
            error={served.error}
            title="The models could not be read"
            onRetry={() => void served.refetch()}
          />
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
        // Other models are another comparison: nothing of the one before is kept.
        <Blind key={`${model} ${other}`} models={[rootOf(served, model), rootOf(served, other)]} decoding={search} />
      ) : (
        <Talk key={model} model={model} decoding={search} />
      )}
    </Page>
  );
}

/** The weights that a name means now; a name that is not listed may still be known to the server. */
function rootOf(served: readonly ServedModel[], name: string): string {
  return served.find(({ id }) => id === name)?.root ?? name;
}

function NoModels(): ReactElement {
  return (
    <Empty
      title="No model to talk to yet"
      actions={
        <Link to="/launch" className={buttonClass("primary")}>
          Train one
        </Link>
      }
    >
      <p>Every run that succeeded and every registered model can be asked here. A tiny one takes a minute:</p>
      <Command>tunix-rt runs submit smoke_tiny</Command>
    </Empty>
  );
}
