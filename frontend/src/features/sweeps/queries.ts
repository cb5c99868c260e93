import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import { isActive } from "../runs/queries";
import type {
  JobStatus,
  ModelVersion,
  NewTuningJob,
  PromoteRequest,
  TuningJob,
  TuningJobDetail,
  TuningJobList,
} from "../../api/schema.gen";

const POLL_MS = 2_000;

/** A page of sweeps, newest first. */
export function listJobs(query: { limit?: number; offset?: number } = {}): Promise<TuningJobList> {
  return unwrap(api.GET("/api/tuning/jobs", { params: { query } }));
}

/** A sweep with its trials, polled while it is active. */
export const jobQuery = (jobId: string) =>
  queryOptions({
    queryKey: ["tuning", jobId],
    queryFn: (): Promise<TuningJobDetail> => unwrap(api.GET("/api/tuning/jobs/{job_id}", pathOf(jobId))),
    refetchInterval: ({ state }) => (state.data === undefined || isActive(state.data.status) ? POLL_MS : false),
  });

/** The importances, refetched when a trial succeeds. */
export const importancesQuery = (jobId: string, numSucceeded: number) =>
  queryOptions({
    queryKey: ["tuning", jobId, "importances", numSucceeded],
    queryFn: () => unwrap(api.GET("/api/tuning/jobs/{job_id}/importances", pathOf(jobId))),
    retry: false,
  });

/** The recipe of the best trial, refetched when the best trial changes. */
export const bestQuery = (jobId: string, bestRunId: string) =>
  queryOptions({
    queryKey: ["tuning", jobId, "best", bestRunId],
    queryFn: () => unwrap(api.GET("/api/tuning/jobs/{job_id}/best", pathOf(jobId))),
  });

/** Validate and save a sweep without starting it. */
export function createJob(job: NewTuningJob): Promise<TuningJobDetail> {
  return unwrap(api.POST("/api/tuning/jobs", { body: job }));
}

export type SweepAction = "start" | "cancel" | "resume";

export function performSweepAction(jobId: string, action: SweepAction): Promise<JobStatus> {
  if (action === "start") return unwrap(api.POST("/api/tuning/jobs/{job_id}/start", pathOf(jobId)));
  if (action === "cancel") return unwrap(api.POST("/api/tuning/jobs/{job_id}/cancel", pathOf(jobId)));
  return unwrap(api.POST("/api/tuning/jobs/{job_id}/resume", pathOf(jobId)));
}

/** Delete a sweep. Its runs stay. */
export async function removeJob(jobId: string): Promise<void> {
  await unwrap(api.DELETE("/api/tuning/jobs/{job_id}", pathOf(jobId)));
}

/** Register the model of the best trial. */
export function promoteBest(jobId: string, body: PromoteRequest): Promise<ModelVersion> {
  return unwrap(api.POST("/api/tuning/jobs/{job_id}/promote-best", { ...pathOf(jobId), body }));
}

/** The actions available in the current status. */
export function availableActions({ status }: Pick<TuningJob, "status">): SweepAction[] {
  if (status === "queued") return ["start", "cancel"];
  if (status === "running") return ["cancel"];
  return status === "cancelled" || status === "failed" ? ["resume"] : [];
}

function pathOf(jobId: string) {
  return { params: { path: { job_id: jobId } } };
}
