import { Link } from "@tanstack/react-router";
import type { EvaluatedModel, EvaluationSummary } from "../../../api/schema.gen";
import { Interval } from "../../../ui/charts/Interval";
import { modelKind, modelName } from "../shared/words";
import type { Column } from "../../../ui/tables/columns";
import { Badge } from "../../../ui/display/Badge";
import { formatAgo, formatShare, formatTime, UNKNOWN } from "../../../ui/display/format";
import { shortRunName } from "../../../ui/display/names";

export const evaluationColumns: Column<EvaluationSummary>[] = [
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
