import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { listEvaluations } from "../queries";
import type { EvaluationSummary } from "../../../api/schema.gen";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { formatCount } from "../../../ui/display/format";
import { evaluationColumns } from "./columns";
import type { EvaluationFilters } from "../filters";
import { NoEvaluations } from "./NoEvaluations";

interface EvaluationTableProps {
  search: EvaluationFilters;
  onPick: (evaluationIds: string[]) => void;
}

/** Evaluations can finish at any time in another process. */
const POLL_MS = 10_000;
const MAX_SELECTED = 2;

export function EvaluationTable({ search, onPick }: EvaluationTableProps): ReactElement {
  const navigate = useNavigate();
  const { pick = [], ...query } = search;
  const rows = usePagedRows<EvaluationSummary>({
    queryKey: ["evaluations", "list", query],
    fetchPage: (page) => listEvaluations({ ...query, ...page }),
    refetchInterval: POLL_MS,
  });
  const toggle = ({ evaluation_id: id }: EvaluationSummary): void => {
    // The first selection is the base; a third replaces the second.
    onPick(pick.includes(id) ? pick.filter((other) => other !== id) : [...pick.slice(0, MAX_SELECTED - 1), id]);
  };

  if (rows.isPending) return <Loading what="Loading evaluations…" />;
  if (rows.error)
    return <ErrorNotice error={rows.error} title="Could not load the evaluations" onRetry={rows.refetch} />;
  if (rows.numRows === 0) return <NoEvaluations isFiltered={Object.keys(query).some((key) => key !== "order")} />;
  return (
    <>
      <p role="status">
        {formatCount(rows.numRows, "evaluation")}
        {pick.length > 0 ? `, ${pick.length} selected: the first is the base` : ". Select two to compare them."}
      </p>
      <VirtualTable
        name="Evaluations"
        columns={evaluationColumns}
        numRows={rows.numRows}
        rowAt={rows.rowAt}
        rowKey={(row) => row.evaluation_id}
        onRange={rows.onRange}
        selection={{ has: ({ evaluation_id }) => pick.includes(evaluation_id), toggle }}
        onOpen={({ evaluation_id: evaluationId }) =>
          void navigate({ to: "/evaluations/$evaluationId", params: { evaluationId } })
        }
      />
    </>
  );
}
