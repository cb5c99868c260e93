import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import type { DemoState, Examination } from "../../api/schema.gen";
import { answer, http, HttpResponse, refuse, server } from "../../testing/http";
import { renderApp } from "../../testing/render";
import { makeRun, runList } from "../../testing/runs";
import { nextStep } from "./nextSteps";

const LISTS = ["/api/traces", "/api/datasets", "/api/tunix/runs", "/api/evaluations", "/api/models"];
const MACHINE: Examination = {
  examined_at: "2026-11-15T12:00:00Z",
  diagnosis: {
    tunix_rt_version: "0.1.0",
    python: "3.11.9",
    platform: "Linux",
    num_cpus: 2,
    available_memory_bytes: 8 * 1024 ** 3,
    engines: [
      { name: "jax", is_installed: true, packages: {}, devices: [{ platform: "cpu", kind: "cpu", num_devices: 1 }] },
      { name: "torch", is_installed: false, packages: {} },
    ],
    auto_engine: "jax",
    extras: [],
    home: "/home/ana/.tunix-rt",
    problems: [{ detail: "The disk is full.", next_step: "Remove something." }],
  },
};

function counted(path: string, total: number): void {
  server.use(answer(path, { data: [], pagination: { limit: 1, offset: 0, total, total_is_exact: true } }));
}

function demoIs(state: DemoState): void {
  server.use(answer("/api/demo", { ...state }));
}

beforeEach(() => {
  LISTS.forEach((path) => {
    counted(path, 0);
  });
  demoIs({ status: "none" });
  server.use(answer("/api/doctor", { ...MACHINE }), answer("/api/tunix/sparklines", { data: [] }));
});

test("an empty home offers traces and the demo", async () => {
  renderApp("/");
  const next = await screen.findByRole("region", { name: "Next step" });
  expect(within(next).getByRole("link", { name: "Go to traces" }).getAttribute("href")).toBe("/traces");
  await screen.findByRole("button", { name: "Run the demo" });
  await screen.findByText("No runs yet.");
});

test("the inventory is counted and sets the next step", async () => {
  counted("/api/traces", 3_000);
  counted("/api/datasets", 2);
  renderApp("/");
  await screen.findByRole("heading", { name: "Plan and launch a run" });
  const here = screen.getByRole("list", { name: "Inventory" });
  expect(within(here).getByRole("link", { name: "3,000 Traces" })).toBeTruthy();
});

test("the next steps are offered in order", () => {
  const inventory = { numTraces: 1, numDatasets: 1, numRuns: 1, numEvaluations: 1, numModels: 1 };
  const keys = ["numTraces", "numDatasets", "numRuns", "numEvaluations", "numModels"] as const;
  const offered = keys.map((key) => nextStep({ ...inventory, [key]: 0 }).to);
  expect(offered).toEqual(["/traces", "/datasets/new", "/launch", "/evaluations", "/models"]);
  expect(nextStep(inventory).to).toBe("/chat");
});

test("commands name existing runs and models", () => {
  const inventory = { numTraces: 1, numDatasets: 1, numRuns: 1, numEvaluations: 1, numModels: 1 };
  const named = { ...inventory, newestRun: "run-7", firstModel: "sums" };
  expect(nextStep(named).command).toBe("tunix-rt chat sums");
  expect(nextStep({ ...named, numEvaluations: 0 }).command).toBe("tunix-rt eval run-7 --eval-set eval_v2");
});

test("the demo starts and shows its stage", async () => {
  server.use(
    http.post("/api/demo", () => {
      demoIs({ status: "running", stage: "7/10 planning the training" });
      return HttpResponse.json({ status: "running" }, { status: 202 });
    }),
  );
  const { user } = renderApp("/");
  await user.click(await screen.findByRole("button", { name: "Run the demo" }));
  await screen.findByText("Starting");
  await screen.findByText("Planning the training (step 7 of 10)");
  expect(screen.getByRole("progressbar", { name: "Demo project" }).getAttribute("value")).toBe("6");
});

test("a finished demo shows its result with an interval", async () => {
  demoIs({ status: "succeeded", figures: { before: 0, after: 0.99, low: 0.964, high: 0.997, num_items: 200 } });
  renderApp("/");
  await screen.findByText("99.0 %");
  screen.getByText(/95 % CI 96.4 % to 99.7 %, n = 200/);
  screen.getByRole("button", { name: "Run again" });
  expect(screen.getByRole("link", { name: "Dataset" }).getAttribute("href")).toBe("/datasets/demo-arithmetic-v2");
});

test("a failed demo shows the error", async () => {
  demoIs({ status: "failed", failure: "Error: JAX is not installed." });
  renderApp("/");
  await screen.findByText("Error: JAX is not installed.");
});

test("the latest runs are shown with status", async () => {
  server.use(
    answer("/api/tunix/runs", runList([makeRun({ status: "running" })])),
    answer("/api/tunix/sparklines", { data: [{ run_id: "smoke-1", steps: [1, 9], losses: [2, 1] }] }),
  );
  renderApp("/");
  const card = await screen.findByRole("region", { name: "Latest runs" });
  await within(card).findByRole("link", { name: "smoke-1" });
  await within(card).findByText(/step 9/);
});

test("the machine card shows devices and problems", async () => {
  const requests: string[] = [];
  server.use(
    http.get("/api/doctor", ({ request }) => {
      requests.push(new URL(request.url).search);
      return HttpResponse.json(MACHINE);
    }),
  );
  const { user } = renderApp("/");
  const card = await screen.findByRole("region", { name: "This machine" });
  await within(card).findByText("1 × cpu");
  within(card).getByText("not installed");
  within(card).getByText(/The disk is full. Remove something./);
  await user.click(within(card).getByRole("button", { name: "Check again" }));
  await waitFor(() => {
    expect(requests).toEqual(["?fresh=false", "?fresh=true"]);
  });
});

test("failed requests can be retried", async () => {
  server.use(...[...LISTS, "/api/doctor", "/api/demo"].map((path) => refuse(path)));
  renderApp("/");
  await screen.findByRole("heading", { name: "Could not load the home" });
  expect((await screen.findAllByRole("button", { name: "Try again" })).length).toBe(3);
});
