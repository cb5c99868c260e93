import { setTimeout as sleep } from "node:timers/promises";
import type { APIRequestContext } from "@playwright/test";
import { tunixRt } from "../e2e/support/cli";
import { DATASET, RUNS, SHOP_TRACES, SOURCE, SWEEP } from "./material";

/** The ids of the records shown in the screenshots. */
export interface Subjects {
  /** The path of the home, hidden in screenshots. */
  path: string;
  trace: string;
  otherTrace: string;
  run: string;
  runs: string[];
  sweep: string;
  before: string;
  after: string;
  item: string;
  version: string;
  report: string;
}

interface Page<Row> {
  data: Row[];
}

interface Version {
  id: string;
  version: number;
}

const POLL_MS = 2_000;
const ENDED = ["succeeded", "failed", "cancelled"];

/** Fills a home with the demo and a few other records. Existing records are kept. */
export async function fillHome(request: APIRequestContext): Promise<Subjects> {
  const server = new Server(request);
  await makeDemo(server);
  await addTraces(server);
  const [before = "", after = ""] = await demoEvaluations(server);
  const run = await demoRun(server);
  const runs = await Promise.all(RUNS.map((spec) => ensureRun(server, spec)));
  const { diagnosis } = await server.get<{ diagnosis: { home: string } }>("/api/doctor");
  return {
    path: diagnosis.home,
    ...(await wrongTraces(server)),
    ...{ run, runs, before, after },
    sweep: await ensureSweep(server),
    item: await firstItem(server, after),
    version: await registerModel(server, run, before, after),
    report: await ensureReport(server, diagnosis.home, run),
  };
}

/** Requests that must succeed; `allowed` is a status that means "already exists". */
class Server {
  constructor(private readonly request: APIRequestContext) {}

  async get<Answer>(path: string): Promise<Answer> {
    const response = await this.request.get(path);
    if (!response.ok()) throw new Error(`GET ${path}: ${await response.text()}`);
    return (await response.json()) as Answer;
  }

  async send<Answer>(method: "POST" | "PUT", path: string, data?: object, allowed = 0): Promise<Answer> {
    const response = await this.request.fetch(path, { method, ...(data && { data }), timeout: 120_000 });
    if (!response.ok() && response.status() !== allowed) throw new Error(`${method} ${path}: ${await response.text()}`);
    return (await response.json()) as Answer;
  }

  async until<Answer extends { status: string }>(path: string): Promise<Answer> {
    for (;;) {
      const answer = await this.get<Answer>(path);
      if (ENDED.includes(answer.status)) return answer;
      await sleep(POLL_MS);
    }
  }
}

async function makeDemo(server: Server): Promise<void> {
  const { status } = await server.get<{ status: string }>("/api/demo");
  if (status !== "succeeded" && status !== "running") await server.send("POST", "/api/demo");
  const made = await server.until<{ status: string; failure?: string }>("/api/demo");
  if (made.status !== "succeeded") throw new Error(`The demo failed: ${made.failure ?? "see its log"}`);
}

async function addTraces(server: Server): Promise<void> {
  await server.send("POST", "/api/traces/batch", SHOP_TRACES);
  await server.send("POST", "/api/traces/score");
  const source = { source: SOURCE };
  await server.send("POST", "/api/datasets/build", { dataset_name: "sales", filters: source });
  const right = { ...source, without_codes: ["arithmetic-wrong"] };
  const next = { dataset_name: "sales", dataset_version: "v2", parent_dataset_key: "sales-v1", filters: right };
  await server.send("POST", "/api/datasets/build", next);
}

async function wrongTraces(server: Server): Promise<{ trace: string; otherTrace: string }> {
  const { data } = await server.get<Page<{ id: string }>>(`/api/traces?source=${SOURCE}&code=arithmetic-wrong&limit=2`);
  return { trace: data[0]?.id ?? "", otherTrace: data[1]?.id ?? "" };
}

/** The evaluations of the demo, random weights first. */
async function demoEvaluations(server: Server): Promise<string[]> {
  const path = "/api/evaluations?eval_set=demo_arithmetic_heldout&limit=100";
  const { data } = await server.get<Page<{ evaluation_id: string; model: { weights: string } }>>(path);
  const [random, learned] = [true, false].map((isRandom) =>
    data.find(({ model }) => (model.weights === "random") === isRandom),
  );
  return [random?.evaluation_id ?? "", learned?.evaluation_id ?? ""];
}

async function demoRun(server: Server): Promise<string> {
  const { data } = await server.get<Page<{ run_id: string }>>(`/api/tunix/runs?text=-demo-&dataset=${DATASET}`);
  const [run] = data;
  if (run === undefined) throw new Error("The demo has no run in this home.");
  return run.run_id;
}

async function ensureRun(server: Server, spec: { name: string }): Promise<string> {
  const known = await server.get<Page<{ run_id: string }>>(`/api/tunix/runs?text=-${spec.name}-`);
  const { run_id } = known.data[0] ?? (await server.send<{ run_id: string }>("POST", "/api/tunix/runs", spec));
  await server.until(`/api/tunix/runs/${run_id}/status`);
  return run_id;
}

async function ensureSweep(server: Server): Promise<string> {
  const known = await server.get<Page<{ id: string }>>("/api/tuning/jobs");
  const { id } = known.data[0] ?? (await server.send<{ id: string }>("POST", "/api/tuning/jobs", SWEEP));
  if (known.data.length === 0) await server.send("POST", `/api/tuning/jobs/${id}/start`);
  await server.until(`/api/tuning/jobs/${id}`);
  return id;
}

async function firstItem(server: Server, evaluation: string): Promise<string> {
  const { data } = await server.get<Page<{ item_id: string }>>(`/api/evaluations/${evaluation}/items?limit=1`);
  return data[0]?.item_id ?? "";
}

/** Registers the demo model, creates a gate and packs its evidence. Returns the version id. */
async function registerModel(server: Server, run: string, before: string, after: string): Promise<string> {
  const there = 409;
  await server.send("POST", "/api/models", { name: "sums", description: "Adds, and shows how." }, there);
  const promoted = { source_run_id: run };
  const { id, version } = await server.send<Version>("POST", "/api/models/sums/versions/promote", promoted);
  await server.send("PUT", "/api/models/sums/aliases/champion", { version });
  await server.send("POST", "/api/regression/baselines", { name: "champion", evaluation_id: after });
  await server.send("POST", "/api/regression/check", { baseline_name: "champion", evaluation_id: before });
  await server.send("POST", "/api/evidence/pack", { run_id: run });
  return id;
}

/** The faithfulness report of the demo model. */
async function ensureReport(server: Server, home: string, run: string): Promise<string> {
  const known = async () => (await server.get<Page<{ report_id: string }>>("/api/faithfulness")).data[0]?.report_id;
  if ((await known()) === undefined)
    await tunixRt(home, "eval", "faithfulness", run, "--eval-set", "demo_arithmetic_heldout");
  return (await known()) ?? "";
}
