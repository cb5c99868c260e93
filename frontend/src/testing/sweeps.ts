import type { TuningJobDetail, TuningJobList, TuningTrial } from "../api/schema.gen";

export const JOB_ID = "20261115-120000-rates-3f2a";

/** A successful trial, with overrides. */
export function makeTrial(number: number, changes: Partial<TuningTrial> = {}): TuningTrial {
  return {
    id: `${JOB_ID}:${number}`,
    tuning_job_id: JOB_ID,
    run_id: `${JOB_ID}-t000${number}`,
    params: { "training.learning_rate": 0.001 * (number + 1), "training.optimizer.name": "adamw" },
    status: "succeeded",
    metric_value: 2 - number / 10,
    created_at: "2026-11-15T12:00:00Z",
    completed_at: "2026-11-15T12:01:00Z",
    ...changes,
  };
}

/** A finished sweep with three trials: one good, one better, one failed. */
export function makeJob(changes: Partial<TuningJobDetail> = {}): TuningJobDetail {
  return {
    id: JOB_ID,
    name: "rates",
    status: "succeeded",
    dataset_key: "demo-v1",
    base_model_id: "tiny",
    metric_name: "validation_loss",
    metric_mode: "min",
    num_samples: 3,
    num_trials: 3,
    max_concurrent_trials: 1,
    spec: {
      name: "rates",
      recipe: "smoke_tiny",
      search_space: {
        "training.learning_rate": { type: "loguniform", min: 0.0001, max: 0.1 },
        "training.optimizer.name": { type: "choice", values: ["adamw", "adafactor"] },
      },
      budget: { num_trials: 3 },
    },
    best_run_id: `${JOB_ID}-t0001`,
    best_params: makeTrial(1).params,
    best_value: 1.9,
    created_at: "2026-11-15T12:00:00Z",
    started_at: "2026-11-15T12:00:00Z",
    completed_at: "2026-11-15T12:03:00Z",
    trials: [
      makeTrial(0),
      makeTrial(1),
      makeTrial(2, { status: "failed", metric_value: null, error: "The loss is not finite." }),
    ],
    ...changes,
  };
}

export function jobList(jobs: TuningJobDetail[]): TuningJobList {
  return { data: jobs, pagination: { limit: 100, offset: 0, total: jobs.length, total_is_exact: true } };
}
