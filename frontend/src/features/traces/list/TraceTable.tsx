import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import type { TraceSummary } from "../../../api/schema.gen";
import { listTraces } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { buttonClass } from "../../../ui/forms/Button";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { formatCount } from "../../../ui/display/format";
import { TRACE_COLUMNS } from "./columns";
import { isFiltered, orderOf, sortOf, type TraceSearch, type TraceSearchChange } from "./filters";
import { NoTraces } from "./NoTraces";
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
