import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Evaluation, Prediction } from "../../../api/schema.gen";
import { formatCount, UNKNOWN } from "../../../ui/display/format";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import type { Column } from "../../../ui/tables/columns";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import styles from "../evaluations.module.css";
import type { ItemFilters } from "../filters";
import { listItems } from "../queries";
import type { Changes } from "../shared/changes";
import { VerdictBadge } from "../shared/VerdictBadge";
import { tokensText } from "../shared/format";
import { ItemFilterBar } from "./ItemFilterBar";

interface ItemBrowserProps {
  evaluation: Evaluation;
  filters: ItemFilters;
  onChange: (changes: Changes<ItemFilters>) => void;
}

/** The items of an evaluation with their verdicts. Enter opens an item. */
export function ItemBrowser({ evaluation, filters, onChange }: ItemBrowserProps): ReactElement {
  return (
    <>
      <ItemFilterBar scores={evaluation.scores} filters={filters} onChange={onChange} />
      <ItemTable evaluationId={evaluation.evaluation_id} filters={filters} />
    </>
  );
}

/** A prediction and its position in the list. */
export type Row = Prediction & { at: number };

function ItemTable({ evaluationId, filters }: { evaluationId: string; filters: ItemFilters }): ReactElement {
  const navigate = useNavigate();
  const rows = usePagedRows<Prediction>({
    queryKey: ["evaluations", evaluationId, "list", filters],
    fetchPage: (page) => listItems(evaluationId, { ...filters, ...page }),
  });
  if (rows.isPending) return <Loading what="Loading items…" />;
  if (rows.error) return <ErrorNotice error={rows.error} title="Could not load the items" onRetry={rows.refetch} />;
  if (rows.numRows === 0) {
    return (
      <Empty title="No items match these filters">
        <p>Clear the filters or broaden the search.</p>
      </Empty>
    );
  }
  const rowAt = (at: number): Row | undefined => {
    const found = rows.rowAt(at);
    return found && { ...found, at };
  };
  return (
    <>
      <p role="status">{formatCount(rows.numRows, "completion")}</p>
      <VirtualTable
        name="Items"
        columns={itemColumns(evaluationId, filters)}
        numRows={rows.numRows}
        rowAt={rowAt}
        rowKey={({ item_id, sample }) => `${item_id} ${sample ?? 0}`}
        onRange={rows.onRange}
        onOpen={({ item_id, at }) =>
          void navigate({
            to: "/evaluations/$evaluationId/items/$itemId",
            params: { evaluationId, itemId: item_id },
            search: { ...filters, at },
          })
        }
      />
    </>
  );
}

/** The columns of the items. Links keep the filters, so that the item screen can navigate the list. */
function itemColumns(evaluationId: string, filters: ItemFilters): Column<Row>[] {
  return [
    {
      key: "verdict",
      header: "Verdict",
      width: "7.5rem",
      cell: ({ judgement }) => <VerdictBadge verdict={judgement.verdict} />,
    },
    {
      key: "item",
      header: "Item",
      width: "minmax(8rem, 1fr)",
      cell: ({ item_id: itemId, at, sample }) => (
        <Link
          to="/evaluations/$evaluationId/items/$itemId"
          params={{ evaluationId, itemId }}
          search={{ ...filters, at }}
        >
          {itemId}
          {sample ? ` · sample ${sample + 1}` : null}
        </Link>
      ),
    },
    {
      key: "prompt",
      header: "Question",
      width: "minmax(10rem, 3fr)",
      cell: ({ prompt }) => <TruncatedText text={prompt} />,
    },
    {
      key: "answer",
      header: "Answer",
      width: "7rem",
      cell: ({ judgement }) => <TruncatedText text={judgement.answer ?? UNKNOWN} />,
    },
    {
      key: "expected",
      header: "Expected",
      width: "7rem",
      isSecondary: true,
      cell: ({ expected_answer }) => <TruncatedText text={expected_answer} />,
    },
    {
      key: "rule",
      header: "Extracted by",
      width: "7rem",
      isSecondary: true,
      cell: ({ judgement }) => judgement.rule ?? UNKNOWN,
    },
    {
      key: "tokens",
      header: "Tokens",
      width: "5rem",
      align: "end",
      isSecondary: true,
      cell: ({ generation }) => tokensText(generation.num_new_tokens),
    },
  ];
}

function TruncatedText({ text }: { text: string }) {
  return (
    <span className={styles.cut} title={text}>
      {text}
    </span>
  );
}
