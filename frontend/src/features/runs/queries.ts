import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import type { operations, Run, RunDetail, RunList, SparklineList } from "../../api/schema.gen";

/** Filters and page of a list of runs; all of them must hold. */
export type RunQuery = NonNullable<operations["list_runs_api_tunix_runs_get"]["parameters"]["query"]>;

const POLL_MS = 2_000;

/** A page of runs, newest first. */
export function listRuns(query: RunQuery = {}): Promise<RunList> {
  return unwrap(api.GET("/api/tunix/runs", { params: { query } }));
}

/** A run with its recipe and its plan; read again while it may change. */
export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: ["runs", runId],
    queryFn: (): Promise<RunDetail> =>
      unwrap(api.GET("/api/tunix/runs/{run_id}", { params: { path: { run_id: runId } } })),
    refetchInterval: ({ state }) => (state.data === undefined || isActive(state.data.status) ? POLL_MS : false),
  });

/** The losses of some runs at a glance; read again while one of them runs. */
export const sparklinesQuery = (runs: readonly Pick<Run, "run_id" | "status">[]) =>
  queryOptions({
    queryKey: ["sparklines", runs.map(({ run_id }) => run_id)],
    queryFn: (): Promise<SparklineList> =>
      unwrap(api.GET("/api/tunix/sparklines", { params: { query: { run_id: runs.map(({ run_id }) => run_id) } } })),
    enabled: runs.length > 0,
    refetchInterval: runs.some(({ status }) => isActive(status)) ? POLL_MS : false,
  });

/** How the queue stands: runs by status, and who takes them. */
export const queueQuery = queryOptions({
  queryKey: ["queue"],
  queryFn: () => unwrap(api.GET("/api/tunix/queue")),
  refetchInterval: POLL_MS,
});

/** What can be asked of a run; each answers with the run as it is then. */
export type RunAct = "cancel" | "pause" | "resume";

export function actOnRun(runId: string, act: RunAct): Promise<RunDetail> {
  const path = { params: { path: { run_id: runId } } };
  if (act === "cancel") return unwrap(api.POST("/api/tunix/runs/{run_id}/cancel", path));
  if (act === "pause") return unwrap(api.POST("/api/tunix/runs/{run_id}/pause", path));
  return unwrap(api.POST("/api/tunix/runs/{run_id}/resume", path));
}

/** Remove a run and its files. */
export async function removeRun(runId: string): Promise<void> {
  await unwrap(api.DELETE("/api/tunix/runs/{run_id}", { params: { path: { run_id: runId } } }));
}

/** Whether a run may still change by itself. */
export function isActive(status: Run["status"]): boolean {
  return status === "queued" || status === "running" || status === "cancelling";
}

/** The files of a run; read again while it may write more. */
export const artifactsQuery = (run: Pick<Run, "run_id" | "status">) =>
  queryOptions({
    queryKey: ["runs", run.run_id, "artifacts", run.status],
    queryFn: () => unwrap(api.GET("/api/tunix/runs/{run_id}/artifacts", { params: { path: { run_id: run.run_id } } })),
    refetchInterval: isActive(run.status) ? 5 * POLL_MS : false,
  });

/** Where a file of a run is downloaded from. */
export function artifactPath(runId: string, path: string): string {
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  return `/api/tunix/runs/${runId}/artifacts/${escaped}/download`;
}
