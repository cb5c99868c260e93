import type { Run, RunList } from "../api/schema.gen";

/** A successful run, with overrides. */
export function makeRun(changes: Partial<Run> = {}): Run {
  return {
    run_id: "smoke-1",
    status: "succeeded",
    created_at: "2026-11-15T12:00:00Z",
    queued_at: "2026-11-15T12:00:00Z",
    started_at: "2026-11-15T12:00:05Z",
    finished_at: "2026-11-15T12:02:05Z",
    priority: 0,
    is_held: false,
    recipe_name: "smoke_tiny",
    model: "tiny",
    dataset: "demo-v1",
    mode: "full",
    engine: "jax",
    device: "cpu",
    executor: "local",
    num_attempts: 1,
    num_failures: 0,
    exit_code: 0,
    figures: {
      num_steps: 20,
      num_planned_steps: 20,
      num_examples: 100,
      num_dropped_examples: 0,
      fill_ratio: 0.9,
      final_loss: 0.5,
    },
    ...changes,
  };
}

/** A single page with these runs. */
export function runList(runs: Run[]): RunList {
  return { data: runs, pagination: { limit: 100, offset: 0, total: runs.length, total_is_exact: true } };
}
