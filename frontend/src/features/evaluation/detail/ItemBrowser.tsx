import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { listItems } from "../queries";
import type { Evaluation, Prediction } from "../../../api/schema.gen";
import type { Changes } from "../shared/changes";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { formatCount } from "../../../ui/display/format";
import type { ItemFilters } from "../filters";
import { ItemFilterBar } from "./ItemFilterBar";
import { itemColumns } from "./itemColumns";

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
