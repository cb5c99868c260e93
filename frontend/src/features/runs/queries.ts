import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import type { operations, Run, RunDetail, RunList, SparklineList } from "../../api/schema.gen";

/** Filters and page of a list of runs. A run must match all filters. */
export type RunQuery = NonNullable<operations["list_runs_api_tunix_runs_get"]["parameters"]["query"]>;

const POLL_MS = 2_000;

/** A page of runs, newest first. */
export function listRuns(query: RunQuery = {}): Promise<RunList> {
  return unwrap(api.GET("/api/tunix/runs", { params: { query } }));
}

/** A run with its recipe and plan, polled while it is active. */
export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: ["runs", runId],
    queryFn: (): Promise<RunDetail> =>
      unwrap(api.GET("/api/tunix/runs/{run_id}", { params: { path: { run_id: runId } } })),
    refetchInterval: ({ state }) => (state.data === undefined || isActive(state.data.status) ? POLL_MS : false),
  });

/** The sparklines of some runs, polled while one of them is active. */
export const sparklinesQuery = (runs: readonly Pick<Run, "run_id" | "status">[]) =>
  queryOptions({
    queryKey: ["sparklines", runs.map(({ run_id }) => run_id)],
    queryFn: (): Promise<SparklineList> =>
      unwrap(api.GET("/api/tunix/sparklines", { params: { query: { run_id: runs.map(({ run_id }) => run_id) } } })),
    enabled: runs.length > 0,
    refetchInterval: runs.some(({ status }) => isActive(status)) ? POLL_MS : false,
  });

/** The state of the queue: runs by status, and the workers. */
export const queueQuery = queryOptions({
  queryKey: ["queue"],
  queryFn: () => unwrap(api.GET("/api/tunix/queue")),
  refetchInterval: POLL_MS,
});

/** The actions of a run. Each returns the updated run. */
export type RunAction = "cancel" | "pause" | "resume";

export function performRunAction(runId: string, action: RunAction): Promise<RunDetail> {
  const path = { params: { path: { run_id: runId } } };
  if (action === "cancel") return unwrap(api.POST("/api/tunix/runs/{run_id}/cancel", path));
  if (action === "pause") return unwrap(api.POST("/api/tunix/runs/{run_id}/pause", path));
  return unwrap(api.POST("/api/tunix/runs/{run_id}/resume", path));
}

/** Delete a run and its files. */
export async function removeRun(runId: string): Promise<void> {
  await unwrap(api.DELETE("/api/tunix/runs/{run_id}", { params: { path: { run_id: runId } } }));
}

/** Whether a run can still change on its own. */
export function isActive(status: Run["status"]): boolean {
  return status === "queued" || status === "running" || status === "cancelling";
}

/** The files of a run, polled while it is active. */
export const artifactsQuery = (run: Pick<Run, "run_id" | "status">) =>
  queryOptions({
    queryKey: ["runs", run.run_id, "artifacts", run.status],
    queryFn: () => unwrap(api.GET("/api/tunix/runs/{run_id}/artifacts", { params: { path: { run_id: run.run_id } } })),
    refetchInterval: isActive(run.status) ? 5 * POLL_MS : false,
  });

/** The download path of a file. */
export function artifactPath(runId: string, path: string): string {
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  return `/api/tunix/runs/${runId}/artifacts/${escaped}/download`;
}
