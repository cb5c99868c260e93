import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import type { TraceSummary } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { formatAgo, formatCount, formatNumber, formatTime, UNKNOWN } from "../../../ui/display/format";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button, buttonClass } from "../../../ui/forms/Button";
import type { Column } from "../../../ui/tables/columns";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { ScoreBadge } from "../parts/ScoreBadge";
import { listTraces } from "../queries";
import { isFiltered, orderOf, sortOf, type TraceSearch, type TraceSearchChange } from "./filters";
import styles from "./list.module.css";

interface TraceTableProps {
  search: TraceSearch;
  onChange: (changes: TraceSearchChange) => void;
  onImport: () => void;
}

/** The traces that match the filters. Two of them can be selected and compared. */
export function TraceTable({ search, onChange, onImport }: TraceTableProps): ReactElement {
  const navigate = useNavigate();
  const [selected, setSelected] = useState<readonly string[]>([]);
  const rows = usePagedRows<TraceSummary>({
    queryKey: ["traces", "list", search],
    fetchPage: (page) => listTraces({ ...search, ...page }),
  });
  if (rows.isPending) return <Loading what="Loading traces…" />;
  if (rows.error) return <ErrorNotice error={rows.error} title="Could not load the traces" onRetry={rows.refetch} />;
  if (rows.numRows === 0) return <NoTraces isFiltered={isFiltered(search)} onImport={onImport} />;
  return (
    <>
      <div className={styles.above}>
        <p role="status">{`${rows.isExact ? "" : "More than "}${formatCount(rows.numRows, "trace")}`}</p>
        <CompareLink selected={selected} />
      </div>
      <VirtualTable
        name="Traces"
        columns={TRACE_COLUMNS}
        numRows={rows.numRows}
        rowAt={rows.rowAt}
        rowKey={(trace) => trace.prompt_start}
        onRange={rows.onRange}
        sort={sortOf(search.order)}
        onSort={(sort) => {
          onChange({ order: orderOf(sort) });
        }}
        onOpen={(trace) => void navigate({ to: "/traces/$traceId", params: { traceId: trace.id } })}
        selection={{
          has: ({ id }) => selected.includes(id),
          toggle: ({ id }) => {
            setSelected(withToggled(selected, id));
          },
        }}
      />
    </>
  );
}

function CompareLink({ selected }: { selected: readonly string[] }): ReactElement {
  const [base, other] = selected;
  if (base === undefined) return <span className={styles.hint}>Select two traces to compare.</span>;
  if (other === undefined) return <span className={styles.hint}>Select one more to compare.</span>;
  return (
    <Link to="/traces/compare" search={{ base, other }} className={buttonClass()}>
      Compare selected
    </Link>
  );
}

/** A third selection replaces the first. */
function withToggled(selected: readonly string[], id: string): string[] {
  if (selected.includes(id)) return selected.filter((one) => one !== id);
  return [...selected, id].slice(-2);
}

interface NoTracesProps {
  isFiltered: boolean;
  onImport: () => void;
}

function NoTraces({ isFiltered, onImport }: NoTracesProps): ReactElement {
  if (isFiltered) {
    return (
      <Empty title="No traces match these filters">
        <p>Clear the filters or broaden the search. Traces that have not been linted have no score and no findings.</p>
      </Empty>
    );
  }
  return (
    <Empty title="No traces yet" actions={<Button onClick={onImport}>Import a file</Button>}>
      <p>
        A trace is one worked solution: a prompt, the steps that solve it, and the answer. Models are trained on traces.
        Import your own (JSONL, CSV or Parquet; chat messages, GSM8K and other formats are supported), or start with a
        bundled dataset:
      </p>
      <Command>tunix-rt data ingest dev-reasoning-v2</Command>
    </Empty>
  );
}

const TRACE_COLUMNS: readonly Column<TraceSummary>[] = [
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
