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

/** The traces that the filters let through. Two of them can be picked and compared. */
export function TraceTable({ search, onChange, onImport }: TraceTableProps): ReactElement {
  const navigate = useNavigate();
  const [picked, setPicked] = useState<readonly string[]>([]);
  const rows = usePagedRows<TraceSummary>({
    queryKey: ["traces", "list", search],
    fetchPage: (page) => listTraces({ ...search, ...page }),
  });
  if (rows.isPending) return <Loading what="Reading the traces…" />;
  if (rows.error) return <ErrorNotice error={rows.error} title="The traces could not be read" onRetry={rows.refetch} />;
  if (rows.numRows === 0) return <NoTraces isFiltered={isFiltered(search)} onImport={onImport} />;
  return (
    <>
      <div className={styles.above}>
        <p role="status">{`${rows.isExact ? "" : "More than "}${formatCount(rows.numRows, "trace")}`}</p>
        <CompareLink picked={picked} />
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
          has: ({ id }) => picked.includes(id),
          toggle: ({ id }) => {
            setPicked(withToggled(picked, id));
          },
        }}
      />
    </>
  );
}

function CompareLink({ picked }: { picked: readonly string[] }): ReactElement {
  const [base, other] = picked;
  if (base === undefined) return <span className={styles.hint}>Pick two traces to compare them.</span>;
  if (other === undefined) return <span className={styles.hint}>Pick one more to compare them.</span>;
  return (
    <Link to="/traces/compare" search={{ base, other }} className={buttonClass()}>
      Compare the two
    </Link>
  );
}

/** A third one takes the place of the first. */
function withToggled(picked: readonly string[], id: string): string[] {
  if (picked.includes(id)) return picked.filter((one) => one !== id);
  return [...picked, id].slice(-2);
}
