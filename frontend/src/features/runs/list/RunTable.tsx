import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { listRuns, sparklinesQuery } from "../queries";
import type { Run, Sparkline as SparklineData } from "../../../api/schema.gen";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { formatCount } from "../../../ui/display/format";
import { runColumns } from "./columns";
import type { RunFilters } from "./filters";
import { NoRuns } from "./NoRuns";

const POLL_MS = 2_000;
/** The route's limit of ids per request. */
const MAX_SPARKLINES = 100;

interface RunTableProps {
  filters: RunFilters;
  /** The selected run ids, in order of selection. */
  selected: readonly string[];
  onSelect: (runIds: string[]) => void;
}

/** The runs that match the filters, with live status. Selected runs can be compared. */
export function RunTable({ filters, selected, onSelect }: RunTableProps): ReactElement {
  const navigate = useNavigate();
  const [range, setRange] = useState({ first: 0, last: 0 });
  const rows = usePagedRows<Run>({
    queryKey: ["runs", "list", filters],
    fetchPage: (page) => listRuns({ ...filters, ...page }),
    refetchInterval: POLL_MS,
  });
  const sparklines = useSparklines(visibleRuns(rows.rowAt, range.first, range.last));

  if (rows.isPending) return <Loading what="Loading runs…" />;
  if (rows.error) return <ErrorNotice error={rows.error} title="Could not load the runs" onRetry={rows.refetch} />;
  if (rows.numRows === 0) return <NoRuns isFiltered={Object.keys(filters).length > 0} />;
  return (
    <>
      <p role="status">
        {formatCount(rows.numRows, "run")}
        {selected.length > 0
          ? `, ${selected.length} selected: the first is the base`
          : ". Select runs to compare them."}
      </p>
      <VirtualTable
        name="Runs"
        columns={runColumns(sparklines)}
        numRows={rows.numRows}
        rowAt={rows.rowAt}
        rowKey={(run) => run.run_id}
        onRange={(first, last) => {
          rows.onRange(first, last);
          setRange({ first, last });
        }}
        selection={{
          has: ({ run_id }) => selected.includes(run_id),
          toggle: ({ run_id }) => {
            onSelect(selected.includes(run_id) ? selected.filter((id) => id !== run_id) : [...selected, run_id]);
          },
        }}
        onOpen={(run) => void navigate({ to: "/runs/$runId", params: { runId: run.run_id } })}
      />
    </>
  );
}

function useSparklines(runs: readonly Run[]): ReadonlyMap<string, SparklineData> {
  const { data } = useQuery({ ...sparklinesQuery(runs), placeholderData: (previous) => previous });
  return new Map(data?.data.map((line) => [line.run_id, line]));
}

function visibleRuns(rowAt: (index: number) => Run | undefined, first: number, last: number): Run[] {
  const indices = Array.from({ length: Math.min(last - first + 1, MAX_SPARKLINES) }, (_, index) => first + index);
  return indices.map(rowAt).filter((run) => run !== undefined);
}
