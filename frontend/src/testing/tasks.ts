import type { EvalSetSummary, ExportModel, ExportReport, Task, TaskList, TokenParity } from "../api/schema.gen";

export const EXPORT: ExportModel = { kind: "export", model: "sums:2", form: "merged" };

/** A queued evaluation task, with overrides. */
export function makeTask(changes: Partial<Task> = {}): Task {
  return {
    task_id: "66666666-ffff-4fff-8fff-ffffffffffff",
    status: "queued",
    created_at: "2026-11-15T12:00:00Z",
    model: "sums:2",
    request: { kind: "evaluation", model: "sums:2", eval_set: "eval_v2", limit: 20 },
    num_attempts: 0,
    num_failures: 0,
    ...changes,
  };
}

export function taskList(data: Task[]): TaskList {
  return { data, pagination: { limit: 20, offset: 0, total: data.length, total_is_exact: true } };
}

export function makeEvalSet(changes: Partial<EvalSetSummary> = {}): EvalSetSummary {
  return {
    name: "eval_v2",
    is_shipped: true,
    is_valid: true,
    num_items: 100,
    content_hash: "e".repeat(64),
    sections: {},
    categories: {},
    difficulties: {},
    ...changes,
  };
}

/** The tokens of the registered and the exported model for one question. */
export function makeParity([registered, exported]: [number[], number[]] = [[1], [1]]): TokenParity {
  const prompts = [{ prompt: "What is 17 + 25?", registered, exported }];
  return { engine: "jax", device: "cpu", precision: "float32", max_new_tokens: 32, prompts };
}

/** An export that is the same model. */
export function makeReport(changes: Partial<ExportReport> = {}): ExportReport {
  return {
    report_version: "1",
    version: "sums:2",
    content_hash: "c".repeat(64),
    kind: "adapter",
    form: "merged",
    created_at: "2026-11-15T12:00:00Z",
    tunix_rt_version: "0.1.0",
    files: [{ path: "model.safetensors", size_bytes: 10, sha256: "a".repeat(64) }],
    is_same_bytes: false,
    tokens: makeParity(),
    passed: true,
    ...changes,
  };
}
