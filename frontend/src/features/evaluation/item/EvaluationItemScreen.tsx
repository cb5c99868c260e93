import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { itemQuery } from "../queries";
import type { EvaluatedItem } from "../../../api/schema.gen";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { shellQuoted, snippets } from "../../../ui/copy/snippets";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Page } from "../../../ui/layout/Page";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { MathText } from "../../../ui/markdown/MathText";
import { buttonClass } from "../../../ui/forms/Button";
import { itemFilters } from "../filters";
import { ItemNavigation } from "./ItemNavigation";
import { SampleCard } from "./SampleCard";

const route = getRouteApi("/evaluations/$evaluationId/items/$itemId");

/** One item: the question, and every completion with its checked steps and verdict. */
export function EvaluationItemScreen(): ReactElement {
  const { evaluationId, itemId } = route.useParams();
  const search = route.useSearch();
  const item = useQuery(itemQuery(evaluationId, itemId));
  const cli = `tunix-rt eval items ${evaluationId} --item ${shellQuoted(itemId)}`;
  const path = `/api/evaluations/${evaluationId}/items/${itemId.split("/").map(encodeURIComponent).join("/")}`;
  return (
    <Page
      title={itemId}
      actions={
        <>
          <CopyAs snippets={snippets({ cli, path })} />
          <ItemNavigation evaluationId={evaluationId} itemId={itemId} search={search} />
          <Link
            to="/evaluations/$evaluationId"
            params={{ evaluationId }}
            search={{ tab: "items", ...itemFilters(search) }}
            className={buttonClass()}
          >
            All items
          </Link>
        </>
      }
    >
      {item.isPending ? <Loading what="Loading item…" /> : null}
      {item.isError ? (
        <ErrorNotice error={item.error} title="Could not load the item" onRetry={() => void item.refetch()} />
      ) : null}
      {item.isSuccess ? <Item item={item.data} /> : null}
    </Page>
  );
}

function Item({ item: { samples } }: { item: EvaluatedItem }): ReactElement {
  const [first] = samples;
  return (
    <>
      {first === undefined ? null : (
        <Card title="Question">
          <MathText text={first.prompt} />
          <Facts
            facts={{
              Section: first.section,
              Category: first.category,
              Difficulty: first.difficulty,
            }}
          />
        </Card>
      )}
      {samples.map((sample) => (
        <SampleCard key={sample.sample ?? 0} prediction={sample} isOnly={samples.length === 1} />
      ))}
    </>
  );
}
