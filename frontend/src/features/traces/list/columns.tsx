import { Link } from "@tanstack/react-router";
import type { TraceSummary } from "../../../api/schema.gen";
import type { Column } from "../../../ui/tables/columns";
import { formatAgo, formatNumber, formatTime, UNKNOWN } from "../../../ui/display/format";
import { ScoreBadge } from "../parts/ScoreBadge";

export const TRACE_COLUMNS: readonly Column<TraceSummary>[] = [
  {
    key: "prompt",
    header: "Prompt",
    width: "minmax(11rem, 4fr)",
    cell: (trace) => (
      <Link to="/traces/$traceId" params={{ traceId: trace.id }} title={trace.prompt_start}>
        {trace.prompt_start}
      </Link>
    ),
  },
  {
    key: "score",
    header: "Score",
    width: "6rem",
    isSortable: true,
    cell: (trace) => <ScoreBadge score={trace.score} />,
  },
  {
    key: "steps",
    header: "Steps",
    width: "5rem",
    align: "end",
    isSecondary: true,
    cell: (trace) => formatNumber(trace.num_steps),
  },
  {
    key: "source",
    header: "Source",
    width: "minmax(6rem, 1fr)",
    isSecondary: true,
    cell: (trace) => <span title={trace.source ?? undefined}>{trace.source ?? UNKNOWN}</span>,
  },
  {
    key: "created",
    header: "Created",
    width: "7rem",
    isSortable: true,
    isSecondary: true,
    cell: (trace) => <time title={formatTime(trace.created_at)}>{formatAgo(trace.created_at)}</time>,
  },
];
