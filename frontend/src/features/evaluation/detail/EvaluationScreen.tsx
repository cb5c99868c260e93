import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Evaluation } from "../../../api/schema.gen";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Badge } from "../../../ui/display/Badge";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { buttonClass } from "../../../ui/forms/Button";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import { Tabs } from "../../../ui/layout/Tabs";
import { ModelReports } from "../faithfulness/ReportTable";
import { type EvaluationSearch, itemFilters, itemsCommand, itemsPath } from "../filters";
import { evaluationQuery } from "../queries";
import type { Changes } from "../shared/changes";
import { modelKind, modelName } from "../shared/format";
import { EvaluationActions } from "./EvaluationActions";
import { ItemBrowser } from "./ItemBrowser";
import { ProtocolTab } from "./ProtocolTab";
import { ScoresTab } from "./ScoresTab";

const route = getRouteApi("/evaluations/$evaluationId");
const KINDS = { trained: "trained here", texts: "external predictions", base: "base model" };
const TABS = [
  { key: "scores", label: "Scores" },
  { key: "items", label: "Items" },
  { key: "protocol", label: "Protocol" },
  { key: "faithfulness", label: "Faithfulness" },
] as const;

/** One evaluation: its scores, items, protocol and faithfulness. */
export function EvaluationScreen(): ReactElement {
  const { evaluationId } = route.useParams();
  const evaluation = useQuery(evaluationQuery(evaluationId));
  if (evaluation.isSuccess) return <EvaluationPage evaluation={evaluation.data} />;
  return (
    <Page title="Evaluation">
      {evaluation.isPending ? (
        <Loading what="Loading evaluation…" />
      ) : (
        <ErrorNotice
          error={evaluation.error}
          title="Could not load the evaluation"
          onRetry={() => void evaluation.refetch()}
        />
      )}
    </Page>
  );
}

function EvaluationPage({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: Changes<EvaluationSearch>): void => {
    void navigate({ search: withChanges<EvaluationSearch>(changes), replace: true });
  };
  const { evaluation_id: id, model } = evaluation;
  const { tab = "scores" } = search;
  return (
    <Page
      title={`${modelName(model)} on ${evaluation.evalset}`}
      aside={<Badge kind={model.run_id == null ? "neutral" : "info"}>{KINDS[modelKind(model)]}</Badge>}
      actions={
        <>
          <CopyAs snippets={copied(evaluation, search)} />
          <EvaluationActions evaluation={evaluation} />
          <Link to="/evaluations/compare" search={{ other: id }} className={buttonClass("primary")}>
            Compare
          </Link>
        </>
      }
    >
      <Tabs
        label="Evaluation sections"
        tabs={TABS}
        chosen={tab}
        onChoose={(key) => {
          change({ tab: key === "scores" ? undefined : key });
        }}
      >
        {tab === "scores" ? <ScoresTab evaluation={evaluation} /> : null}
        {tab === "items" ? (
          <ItemBrowser evaluation={evaluation} filters={itemFilters(search)} onChange={change} />
        ) : null}
        {tab === "protocol" ? <ProtocolTab evaluation={evaluation} /> : null}
        {tab === "faithfulness" ? <ModelReports evaluation={evaluation} /> : null}
      </Tabs>
    </Page>
  );
}

function copied({ evaluation_id: id }: Evaluation, search: EvaluationSearch) {
  if (search.tab !== "items") return snippets({ cli: `tunix-rt eval show ${id}`, path: `/api/evaluations/${id}` });
  const filters = itemFilters(search);
  return snippets({ cli: itemsCommand(id, filters), path: itemsPath(id, filters) });
}
