import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { QueueState } from "../../../api/schema.gen";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Badge } from "../../../ui/display/Badge";
import { formatNumber } from "../../../ui/display/format";
import { buttonClass } from "../../../ui/forms/Button";
import { EXACTLY, SavedViews } from "../../../ui/navigation/SavedViews";
import { withChanges } from "../../../ui/navigation/search";
import { NEW_KEY, useScreenAction } from "../../../ui/navigation/useScreenAction";
import type { View } from "../../../ui/navigation/views";
import { Page } from "../../../ui/layout/Page";
import { queueQuery } from "../queries";
import { listCommand, listPath, type RunFilters, runSearch, type RunSearch } from "./filters";
import { RunFilterBar } from "./RunFilterBar";
import { RunTable } from "./RunTable";

const route = getRouteApi("/runs");

/** Every run of this home with its live status. The filters are in the URL. */
export function RunsScreen(): ReactElement {
  const { pick = [], ...filters } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: Partial<RunSearch>): void => {
    void navigate({ search: withChanges<RunSearch>(changes), replace: true });
  };
  useScreenAction("Launch a run", NEW_KEY, () => void navigate({ to: "/launch" }));
  return (
    <Page
      title="Runs"
      about="All training runs with live status."
      aside={<QueueSummary />}
      actions={
        <>
          <CopyAs snippets={snippets({ cli: listCommand(filters), path: listPath(filters) })} />
          {pick.length > 0 ? (
            <Link to="/compare" search={{ run: pick }} className={buttonClass()}>
              Compare {pick.length} selected
            </Link>
          ) : null}
          <Link to="/launch" className={buttonClass("primary")}>
            Launch a run
          </Link>
        </>
      }
    >
      <SavedViews
        list="runs"
        builtIn={RUN_VIEWS}
        search={filters}
        read={readFilters}
        link={(view, props) => <Link to="/runs" search={view} activeOptions={EXACTLY} {...props} />}
      />
      <RunFilterBar filters={filters} onChange={change} />
      <RunTable
        filters={filters}
        selected={pick}
        onSelect={(runIds) => {
          change({ pick: runIds });
        }}
      />
    </Page>
  );
}

/** A view stores filters, not the selection. */
function readFilters(raw: Record<string, unknown>): RunFilters {
  const { pick: _, ...filters } = runSearch(raw);
  return filters;
}

/** The state of the queue: running and queued runs, and whether a worker is active. */
function QueueSummary(): ReactElement | null {
  const queue = useQuery(queueQuery);
  return queue.data === undefined ? null : <QueueBadges queue={queue.data} />;
}

function QueueBadges({ queue }: { queue: QueueState }): ReactElement {
  const [numQueued, numRunning] = [queue.num_runs.queued ?? 0, queue.num_runs.running ?? 0];
  const hasWorker = queue.workers.some(({ status }) => status === "active");
  return (
    <>
      <Badge kind={numRunning > 0 ? "info" : "neutral"}>{formatNumber(numRunning)} running</Badge>
      <Badge>{formatNumber(numQueued)} queued</Badge>
      {queue.is_paused ? (
        <Badge kind="warn" sign="‖">
          queue paused
        </Badge>
      ) : null}
      {hasWorker ? null : (
        <Badge kind="warn" sign="⚠">
          no active worker
        </Badge>
      )}
    </>
  );
}

/** Built-in views. */
const RUN_VIEWS: readonly View<RunFilters>[] = [
  { name: "All", search: {} },
  { name: "Active", search: { status: ["queued", "running", "cancelling"] } },
  { name: "Failed", search: { status: ["failed"] } },
  { name: "Succeeded", search: { status: ["succeeded"] } },
];
