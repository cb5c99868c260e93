import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import type { PlanRequest, RunPreview, RunRequest } from "../../../api/schema.gen";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { makePlan, makePreview, makeRunDetail, streamAnswer } from "../../../testing/plans";

import { renderApp } from "../../../testing/render";

const GIB = 1024 ** 3;
const TARGETS = [
  { name: "local", description: "2 cores", platform: "cpu", num_devices: 1, memory_bytes: 16 * GIB, is_here: true },
  { name: "v5e-8", description: "8 x TPU v5 lite", platform: "tpu", num_devices: 8, memory_bytes: 15 * GIB },
].map((target) => ({ memory_source: "known", notes: [], is_here: false, ...target }));
const SETTINGS = [
  { key: "training.learning_rate", allowed: "a number above 0", default: 2e-5, meaning: "Peak learning rate." },
];
const DATASET = { dataset_key: "gsm8k-v1", content_hash: "x", created_at: "2026-11-15T12:00:00Z", num_rows: 7_000 };

let requests: PlanRequest[];

/** Answers plan requests. */
function plan(of: (request: PlanRequest) => RunPreview): void {
  server.use(
    http.post("/api/tunix/plans", async ({ request }) => {
      const body = (await request.json()) as PlanRequest;
      requests.push(body);
      return HttpResponse.json(of(body));
    }),
  );
}

beforeEach(() => {
  requests = [];
  server.use(
    answer("/api/tunix/targets", { data: TARGETS }),
    answer("/api/tunix/recipes", {
      data: [
        { name: "lora_gemma_2b", is_shipped: true },
        { name: "smoke_tiny", is_shipped: true },
      ],
    }),
    answer("/api/tunix/recipe-settings", { data: SETTINGS }),
    answer("/api/evalsets", { data: [] }),
    answer("/api/tunix/queue", { is_paused: false, num_runs: {}, num_held: 0, workers: [] }),
    answer("/api/datasets", {
      data: [{ ...DATASET, splits: {} }],
      damaged: [],
      pagination: { limit: 100, offset: 0, total: 1, total_is_exact: true },
    }),
  );
  plan(() => makePreview());
});

test("a plan shows memory and time", async () => {
  renderApp("/launch");
  await screen.findByText("Fits");
  screen.getByRole("img", { name: "Memory per device: 3.00 GiB, within Limit 16.0 GiB" });
  screen.getByText(/40 s: 20 steps of 2 s, 512 tokens per step/);
  screen.getByText("No overrides.");
  screen.getByText("No worker is running. Start one:");
});

test("the form updates the URL and the plan", async () => {
  const { user, address } = renderApp("/launch");
  await screen.findByText("Fits");
  await user.selectOptions(screen.getByLabelText("Recipe"), "lora_gemma_2b");
  await user.selectOptions(screen.getByLabelText("Target"), "v5e-8");
  await screen.findByRole("option", { name: "gsm8k-v1 (7,000 rows)" });
  await user.selectOptions(screen.getByLabelText("Dataset"), "gsm8k-v1");
  await user.type(screen.getByLabelText("Session limit (hours)"), "9");
  await waitFor(() => {
    expect(requests.at(-1)).toEqual({
      recipe: "lora_gemma_2b",
      target: "v5e-8",
      device: "tpu",
      dataset: "gsm8k-v1",
      session_seconds: 32_400,
    });
  });
  expect(address()).toContain("recipe=lora_gemma_2b");
  await screen.findByText(/It will wait for a worker with a TPU/);
});

test("a plan that does not fit can be fixed", async () => {
  const fix = {
    change: "--set training.remat=block",
    cost: "layers are computed twice",
    per_device_bytes: 12 * GIB,
    step_seconds: 3,
    source: "estimated" as const,
  };
  plan(({ overrides }) =>
    overrides?.includes("training.remat=block")
      ? makePreview()
      : makePreview({ plan: makePlan({ fits: false, reason: "Does not fit: 20 GiB.", fixes: [fix] }) }),
  );
  const { user } = renderApp("/launch");
  await screen.findByText("Does not fit");
  expect(screen.getByRole("button", { name: "Launch run" }).hasAttribute("disabled")).toBe(true);
  screen.getByText(/12.0 GiB, 3 s per step \(estimated\); layers are computed twice/);
  await user.click(screen.getByRole("button", { name: "Apply training.remat=block" }));
  await screen.findByText("Fits");
  expect(screen.getByRole("button", { name: "Launch run" }).hasAttribute("disabled")).toBe(false);
});

test("a plan that does not fit can be forced", async () => {
  plan(() => makePreview({ plan: makePlan({ fits: false }) }));
  const { user } = renderApp("/launch");
  await user.click(await screen.findByRole("checkbox", { name: /even though it does not fit/ }));
  await waitFor(() => {
    expect(screen.getByRole("button", { name: "Launch run" }).hasAttribute("disabled")).toBe(false);
  });
  screen.getByText(/No change of these settings is sufficient/);
});

test("a run longer than the session is offered fewer steps", async () => {
  plan(() => makePreview({ plan: makePlan({ session_seconds: 20, fits_session: false }) }));
  const { user, address } = renderApp("/launch?hours=0.01");
  await screen.findByText("Exceeds the session");
  screen.getByRole("img", { name: "Training time: 40 s, over Session 20 s" });
  await user.click(screen.getByRole("button", { name: "Apply training.num_steps=9" }));
  await waitFor(() => {
    expect(decodeURIComponent(address())).toContain("training.num_steps=9");
  });
});

test("a setting can be overridden and undone", async () => {
  plan(({ overrides }) => {
    const [value] = overrides ?? [];
    const override = { key: "training.learning_rate", recipe_value: 0.001, used_value: 0.5, reason: "--set" };
    const recipe = makePreview().recipe;
    return makePreview({ recipe: { ...recipe, overrides: value === undefined ? [] : [override] } });
  });
  const { user } = renderApp("/launch");
  await screen.findByText("Fits");
  await user.type(screen.getByLabelText("Setting"), "training.learning_rate");
  await screen.findByText(/Peak learning rate. Allowed: a number above 0/);
  await user.type(screen.getByLabelText("Value"), "0.5{Enter}");
  const row = await screen.findByRole("row", { name: /training.learning_rate/ });
  await within(row).findByText("0.001");
  within(row).getByText("0.5");
  await user.click(within(row).getByRole("button", { name: "Undo training.learning_rate" }));
  await screen.findByText("No overrides.");
});

test("form choices are listed as overrides", async () => {
  const overrides = [
    { key: "data.dataset", recipe_value: "demo-v1", used_value: "gsm8k-v1", reason: "--dataset" },
    { key: "training.num_steps", recipe_value: 20, used_value: 3, reason: "--smoke-steps" },
  ];
  plan(() => makePreview({ recipe: { ...makePreview().recipe, overrides } }));
  const { user, address } = renderApp("/launch?dataset=gsm8k-v1&steps=3");
  await user.click(await screen.findByRole("button", { name: "Undo data.dataset" }));
  await user.click(screen.getByRole("button", { name: "Undo training.num_steps" }));
  await waitFor(() => {
    expect(address()).toBe("/launch");
  });
});

test("advanced options are sent with the plan", async () => {
  server.use(answer("/api/evalsets", { data: [{ name: "eval_v2", num_items: 100 }] }));
  const { user } = renderApp("/launch?steps=2");
  await user.type(await screen.findByLabelText("Name"), "trial");
  await user.selectOptions(screen.getByLabelText("Engine"), "torch");
  await screen.findByRole("option", { name: "eval_v2 (100 items)" });
  await user.selectOptions(screen.getByLabelText("Evaluate on"), "eval_v2");
  await user.type(screen.getByLabelText("Smoke test steps"), "5");
  await waitFor(() => {
    expect(requests.at(-1)).toEqual({
      recipe: "smoke_tiny",
      target: "local",
      engine: "torch",
      eval_set: "eval_v2",
      num_smoke_steps: 25,
    });
  });
});

test("a compiled plan is requested on demand", async () => {
  plan(({ is_compiled }) => makePreview({ plan: makePlan({ source: is_compiled ? "compiled" : "estimated" }) }));
  const { user } = renderApp("/launch");
  await user.click(await screen.findByRole("button", { name: "Compile for exact memory" }));
  await screen.findByText(/Measured by compiling this step/);
  expect(requests.at(-1)?.is_compiled).toBe(true);
});

test("launching queues the run and opens its page", async () => {
  const queued = makeRunDetail({ run_id: "new-1", status: "queued" });
  let submitted: RunRequest | null = null;
  server.use(
    http.post("/api/tunix/runs", async ({ request }) => {
      submitted = (await request.json()) as RunRequest;
      return HttpResponse.json(queued, { status: 201 });
    }),
    answer("/api/tunix/runs/new-1", queued),
    streamAnswer("new-1", []),
  );
  const { user, address } = renderApp("/launch?name=mine");
  await screen.findByText("Fits");
  await user.click(screen.getByRole("button", { name: "Launch run" }));
  await waitFor(() => {
    expect(address()).toBe("/runs/new-1");
  });
  expect(submitted).toEqual({ recipe: "smoke_tiny", target: "local", name: "mine" });
});

test("a run can be relaunched with its resolved recipe", async () => {
  server.use(answer("/api/tunix/runs/old-1", makeRunDetail({ run_id: "old-1" })));
  renderApp("/launch?from=old-1");
  await screen.findByRole("link", { name: "old-1" });
  await waitFor(() => {
    expect(requests.at(-1)?.recipe).toEqual(makeRunDetail().recipe);
  });
});

test("a failed plan shows the error and keeps the form", async () => {
  server.use(
    http.post("/api/tunix/plans", () =>
      HttpResponse.json(
        { detail: "num_stepz is not a key.", next_step: "Did you mean num_steps?", code: "invalid-input" },
        { status: 422 },
      ),
    ),
  );
  const { user } = renderApp("/launch?set=%5B%22num_stepz%3D1%22%5D");
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("Did you mean num_steps?");
  plan(() => makePreview());
  await user.click(screen.getByRole("button", { name: "Undo num_stepz" }));
  await screen.findByText("Fits");
});

test("failed recipes can be retried", async () => {
  server.use(refuse("/api/tunix/recipes"));
  const { user } = renderApp("/launch");
  const alert = await screen.findByRole("alert");
  server.use(answer("/api/tunix/recipes", { data: [{ name: "smoke_tiny", is_shipped: true }] }));
  await user.click(within(alert).getByRole("button", { name: "Try again" }));
  await screen.findByText("Fits");
});

test("a run without a dataset cannot be launched", async () => {
  plan(() => makePreview({ dataset: "", plan: makePlan({ num_steps: null, total_seconds: null }) }));
  renderApp("/launch");
  await screen.findByRole("link", { name: "Build one" });
  screen.getByText(/number of steps unknown without a dataset/);
  expect(screen.getByRole("button", { name: "Launch run" }).hasAttribute("disabled")).toBe(true);
});
