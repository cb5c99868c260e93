import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { listJobs } from "./queries";
import type { TuningJob } from "../../api/schema.gen";
import { Command } from "../../ui/copy/Command";
import { CopyAs } from "../../ui/copy/CopyAs";
import { snippets } from "../../ui/copy/snippets";
import { Empty } from "../../ui/feedback/Empty";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Loading } from "../../ui/feedback/Loading";
import { buttonClass } from "../../ui/forms/Button";
import { NEW_KEY, useScreenAction } from "../../ui/navigation/useScreenAction";
import { Page } from "../../ui/layout/Page";
import type { Column } from "../../ui/tables/columns";
import { usePagedRows } from "../../ui/tables/usePagedRows";
import { VirtualTable } from "../../ui/tables/VirtualTable";
import { formatAgo, formatCount, formatNumber, formatTime } from "../../ui/display/format";
import { StatusBadge } from "../../ui/display/StatusBadge";
import { metricLabel } from "./format";

const POLL_MS = 2_000;

/** Every sweep of this home, newest first. */
export function SweepsScreen(): ReactElement {
  const navigate = useNavigate();
  useScreenAction("New sweep", NEW_KEY, () => void navigate({ to: "/tuning/new" }));
  return (
    <Page
      title="Tuning"
      about="Hyperparameter sweeps over the settings of a recipe, with the best trials and the importance of each setting."
      actions={
        <>
          <CopyAs snippets={snippets({ cli: "tunix-rt tune list", path: "/api/tuning/jobs" })} />
          <Link to="/tuning/new" className={buttonClass("primary")}>
            New sweep
          </Link>
        </>
      }
    >
      <SweepTable />
    </Page>
  );
}

function SweepTable(): ReactElement {
  const navigate = useNavigate();
  const rows = usePagedRows<TuningJob>({ queryKey: ["tuning", "list"], fetchPage: listJobs, refetchInterval: POLL_MS });
  if (rows.isPending) return <Loading what="Loading sweeps…" />;
  if (rows.error) return <ErrorNotice error={rows.error} title="Could not load the sweeps" onRetry={rows.refetch} />;
  if (rows.numRows === 0) return <NoSweeps />;
  return (
    <>
      <p role="status">{formatCount(rows.numRows, "sweep")}</p>
      <VirtualTable
        name="Sweeps"
        columns={COLUMNS}
        numRows={rows.numRows}
        rowAt={rows.rowAt}
        rowKey={({ id }) => id}
        onRange={rows.onRange}
        onOpen={({ id }) => void navigate({ to: "/tuning/$jobId", params: { jobId: id } })}
      />
    </>
  );
}

function NoSweeps(): ReactElement {
  return (
    <Empty
      title="No sweeps yet"
      actions={
        <Link to="/tuning/new" className={buttonClass()}>
          Create a sweep
        </Link>
      }
    >
      <p>
        A sweep tries values for settings of a recipe, each trial as an ordinary run, and shows the best trials and the
        importance of each setting. This one takes a few minutes on any machine:
      </p>
      <Command>tunix-rt tune training/sweeps/learning_rate.yaml</Command>
    </Empty>
  );
}

const COLUMNS: Column<TuningJob>[] = [
  { key: "status", header: "Status", width: "8.5rem", cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: "sweep",
    header: "Sweep",
    width: "minmax(7rem, 1fr)",
    cell: ({ id, name }) => (
      <Link to="/tuning/$jobId" params={{ jobId: id }} title={id}>
        {name}
      </Link>
    ),
  },
  { key: "trials", header: "Trials", width: "4.5rem", align: "end", cell: trialsOf },
  { key: "metric", header: "Objective", width: "10.5rem", isSecondary: true, cell: metricLabel },
  { key: "keys", header: "Settings", width: "minmax(8rem, 1.5fr)", isSecondary: true, cell: keysOf },
  {
    key: "model",
    header: "Model",
    width: "minmax(5rem, 1fr)",
    isSecondary: true,
    cell: (job) => <span title={job.base_model_id}>{job.base_model_id}</span>,
  },
  {
    key: "dataset",
    header: "Dataset",
    width: "minmax(5rem, 1fr)",
    isSecondary: true,
    cell: (job) => <span title={job.dataset_key}>{job.dataset_key}</span>,
  },
  {
    key: "created",
    header: "Created",
    width: "6.5rem",
    isSecondary: true,
    cell: ({ created_at }) => <time title={formatTime(created_at)}>{formatAgo(created_at)}</time>,
  },
];

function trialsOf({ num_trials, num_samples }: TuningJob): string {
  return num_samples == null ? formatNumber(num_trials) : `${formatNumber(num_trials)} / ${formatNumber(num_samples)}`;
}

function keysOf({ spec }: TuningJob): ReactElement {
  const keys = Object.keys(spec.search_space);
  return <span title={keys.join(", ")}>{keys.map((key) => key.split(".").at(-1)).join(", ")}</span>;
}
