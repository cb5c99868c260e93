import { http, HttpResponse, type RequestHandler } from "msw";
import type { Plan, RunDetail, RunPreview } from "../api/schema.gen";
import { makeRun } from "./runs";

const GIB = 1024 ** 3;

/** A plan that fits, with overrides. */
export function makePlan(changes: Partial<Plan> = {}): Plan {
  return {
    model: "tiny",
    target: "local",
    fits: true,
    per_device_bytes: 3 * GIB,
    limit_bytes: 16 * GIB,
    components: { weights: 2 * GIB, optimizer_state: GIB, logits: 0 },
    source: "estimated",
    reason: "Fits: 3.00 GiB of 16.00 GiB per device.",
    num_devices: 1,
    num_target_devices: 1,
    mesh: { data: 1, fsdp: 1, tensor: 1 },
    tokens_per_step: 512,
    flops_per_step: 1e9,
    step_seconds: 2,
    num_steps: 20,
    total_seconds: 40,
    fixes: [],
    assumptions: ["Memory limit: what the device reports."],
    notes: [],
    ...changes,
  };
}

/** A run preview, with overrides. */
export function makePreview(changes: Partial<RunPreview> = {}): RunPreview {
  return {
    recipe_name: "smoke_tiny",
    model: "tiny",
    dataset: "demo-v1",
    mode: "full",
    engine: "jax",
    engine_reason: "no accelerator is here",
    recipe: {
      data: { row_length: 256 },
      training: { batch_size: 2, learning_rate: 0.001, num_steps: 20, num_epochs: null },
      overrides: [],
    },
    plan: makePlan(),
    notes: [],
    ...changes,
  };
}

/** A run with its recipe and plan. */
export function makeRunDetail(changes: Partial<RunDetail> = {}): RunDetail {
  return {
    ...makeRun(),
    request: { recipe: "smoke_tiny" },
    recipe: { model: { name: "tiny" }, training: { num_steps: 20 }, overrides: [] },
    plan: { ...makePlan() },
    ...changes,
  };
}

type Message = [event: string, data: unknown];

/** Mocks the stream of a run. Each message has its index as the id. */
export function streamAnswer(runId: string, messages: readonly Message[]): RequestHandler {
  return http.get(`/api/tunix/runs/${runId}/stream`, () => streamText(messages));
}

/** The messages as server-sent events. */
export function streamText(messages: readonly Message[]): HttpResponse<string> {
  const sent = messages.map(([event, data], id) => `event: ${event}\nid: ${id + 1}\ndata: ${JSON.stringify(data)}\n\n`);
  return new HttpResponse(sent.join(""), { headers: { "content-type": "text/event-stream" } });
}

/** A line of `metrics.jsonl`, one step per second. */
export function stepLine(step: number, loss: number): object {
  return {
    step,
    epoch: step / 10,
    loss,
    lr: 0.001,
    grad_norm: 1,
    tokens: 512,
    trained_tokens: 300,
    tokens_per_s: 500,
    peak_memory_bytes: GIB,
    time: new Date(Date.UTC(2026, 10, 15, 12, 0, step)).toISOString(),
  };
}
