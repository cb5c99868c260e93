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
/** The route takes so many ids at once. */
const MAX_SPARKLINES = 100;

interface RunTableProps {
  filters: RunFilters;
  /** Ids, in the order they were marked. */
  picked: readonly string[];
  onPick: (runIds: string[]) => void;
}

/** The runs that the filters let through, with their state as it is now; those that are marked are compared. */
export function RunTable({ filters, picked, onPick }: RunTableProps): ReactElement {
  const navigate = useNavigate();
  const [range, setRange] = useState({ first: 0, last: 0 });
  const rows = usePagedRows<Run>({
    queryKey: ["runs", "list", filters],
    fetchPage: (page) => listRuns({ ...filters, ...page }),
    refetchInterval: POLL_MS,
  });
  const sparklines = useSparklines(inSight(rows.rowAt, range.first, range.last));

  if (rows.isPending) return <Loading what="Reading the runs…" />;
  if (rows.error) return <ErrorNotice error={rows.error} title="The runs could not be read" onRetry={rows.refetch} />;
  if (rows.numRows === 0) return <NoRuns isFiltered={Object.keys(filters).length > 0} />;
  return (
    <>
      <p role="status">
        {formatCount(rows.numRows, "run")}
        {picked.length > 0 ? `, ${picked.length} marked: the first is the base` : ". Mark some to compare them."}
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
          has: ({ run_id }) => picked.includes(run_id),
          toggle: ({ run_id }) => {
            onPick(picked.includes(run_id) ? picked.filter((id) => id !== run_id) : [...picked, run_id]);
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

function inSight(rowAt: (index: number) => Run | undefined, first: number, last: number): Run[] {
  const indices = Array.from({ length: Math.min(last - first + 1, MAX_SPARKLINES) }, (_, index) => first + index);
  return indices.map(rowAt).filter((run) => run !== undefined);
}
