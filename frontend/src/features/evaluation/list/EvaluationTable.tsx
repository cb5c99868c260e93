import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { EvaluatedModel, EvaluationSummary } from "../../../api/schema.gen";
import { Interval } from "../../../ui/charts/Interval";
import { Command } from "../../../ui/copy/Command";
import { Badge } from "../../../ui/display/Badge";
import { formatAgo, formatCount, formatShare, formatTime, shortRunName, UNKNOWN } from "../../../ui/display/format";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { buttonClass } from "../../../ui/forms/Button";
import type { Column } from "../../../ui/tables/columns";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import type { EvaluationFilters } from "../filters";
import { listEvaluations } from "../queries";
import { modelKind, modelName } from "../shared/format";

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

function NoEvaluations({ isFiltered }: { isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <Empty title="No evaluations match these filters">
        <p>Clear the filters or broaden the search.</p>
      </Empty>
    );
  }
  return (
    <Empty
      title="No evaluations yet"
      actions={
        <Link to="/evaluations" search={{ evaluating: true }} className={buttonClass()}>
          Evaluate a model
        </Link>
      }
    >
      <p>
        An evaluation asks a model every question of an eval set and checks each answer. Evaluate the base model too, to
        measure what training gained.
      </p>
      <Command>tunix-rt eval RUN --eval-set eval_v2</Command>
    </Empty>
  );
}

const evaluationColumns: Column<EvaluationSummary>[] = [
  {
    key: "model",
    header: "Model",
    width: "minmax(10rem, 2fr)",
    cell: ({ model, evaluation_id: evaluationId }) => (
      <>
        <Link to="/evaluations/$evaluationId" params={{ evaluationId }} title={modelName(model)}>
          {shortRunName(modelName(model))}
        </Link>{" "}
        <Kind model={model} />
      </>
    ),
  },
  { key: "evalset", header: "Eval set", width: "minmax(7rem, 1.5fr)", cell: ({ evalset }) => evalset },
  { key: "accuracy", header: "Accuracy", width: "15rem", cell: (row) => <Accuracy row={row} /> },
  {
    key: "format",
    header: "Format",
    width: "6.5rem",
    align: "end",
    isSecondary: true,
    cell: ({ format_adherence }) => formatShare(format_adherence),
  },
  {
    key: "when",
    header: "Evaluated",
    width: "6.5rem",
    isSecondary: true,
    cell: ({ created_at }) => (
      <time dateTime={created_at} title={formatTime(created_at)}>
        {formatAgo(created_at)}
      </time>
    ),
  },
];

function Kind({ model }: { model: EvaluatedModel }) {
  const kind = modelKind(model);
  return <Badge kind={kind === "trained" ? "info" : "neutral"}>{kind}</Badge>;
}

function Accuracy({ row }: { row: EvaluationSummary }) {
  const { primary_score: value, low, high, num_scored, num_unscored } = row;
  if (value == null || low == null || high == null) return <span>{UNKNOWN} nothing scored</span>;
  return (
    <span title={num_unscored > 0 ? `${num_unscored} unscored` : undefined}>
      <Interval value={value} low={low} high={high} n={num_scored} />
      {num_unscored > 0 ? " ?" : null}
    </span>
  );
}
