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

test("an empty home offers to bring traces and to make the demo", async () => {
  renderApp("/");
  const next = await screen.findByRole("region", { name: "Next step" });
  expect(within(next).getByRole("link", { name: "Go to the traces" }).getAttribute("href")).toBe("/traces");
  await screen.findByRole("button", { name: "Make the demo project" });
  await screen.findByText("Nothing has run yet.");
});

test("what is here is counted, and the next step follows from it", async () => {
  counted("/api/traces", 3_000);
  counted("/api/datasets", 2);
  renderApp("/");
  await screen.findByRole("heading", { name: "Plan and start a run" });
  const here = screen.getByRole("list", { name: "What is here" });
  expect(within(here).getByRole("link", { name: "3,000 Traces" })).toBeTruthy();
});

test("each part of the way is offered in its turn", () => {
  const inventory = { numTraces: 1, numDatasets: 1, numRuns: 1, numEvaluations: 1, numModels: 1 };
  const keys = ["numTraces", "numDatasets", "numRuns", "numEvaluations", "numModels"] as const;
  const offered = keys.map((key) => nextStep({ ...inventory, [key]: 0 }).to);
  expect(offered).toEqual(["/traces", "/datasets/new", "/launch", "/evaluations", "/models"]);
  expect(nextStep(inventory).to).toBe("/chat");
});

test("the command names what is there", () => {
  const inventory = { numTraces: 1, numDatasets: 1, numRuns: 1, numEvaluations: 1, numModels: 1 };
  const named = { ...inventory, newestRun: "run-7", firstModel: "sums" };
  expect(nextStep(named).command).toBe("tunix-rt chat sums");
  expect(nextStep({ ...named, numEvaluations: 0 }).command).toBe("tunix-rt eval run-7 --eval-set eval_v2");
});

test("the demo is started by its button, and its stage is told", async () => {
  server.use(
    http.post("/api/demo", () => {
      demoIs({ status: "running", stage: "7/10 planning the training" });
      return HttpResponse.json({ status: "running" }, { status: 202 });
    }),
  );
  const { user } = renderApp("/");
  await user.click(await screen.findByRole("button", { name: "Make the demo project" }));
  await screen.findByText("Starting");
  await screen.findByText("Planning the training (part 7 of 10)");
  expect(screen.getByRole("progressbar", { name: "Demo project" }).getAttribute("value")).toBe("6");
});

test("a finished demo shows what was learned, with its interval", async () => {
  demoIs({ status: "succeeded", figures: { before: 0, after: 0.99, low: 0.964, high: 0.997, num_items: 200 } });
  renderApp("/");
  await screen.findByText("99.0 %");
  screen.getByText(/95 %: 96.4 % to 99.7 %, n = 200/);
  screen.getByRole("button", { name: "Make it again" });
  expect(screen.getByRole("link", { name: "Its dataset" }).getAttribute("href")).toBe("/datasets/demo-arithmetic-v2");
});

test("a failed demo says why", async () => {
  demoIs({ status: "failed", failure: "Error: JAX is not installed." });
  renderApp("/");
  await screen.findByText("Error: JAX is not installed.");
});

test("the newest runs are shown with their state", async () => {
  server.use(
    answer("/api/tunix/runs", runList([makeRun({ status: "running" })])),
    answer("/api/tunix/sparklines", { data: [{ run_id: "smoke-1", steps: [1, 9], losses: [2, 1] }] }),
  );
  renderApp("/");
  const card = await screen.findByRole("region", { name: "Newest runs" });
  await within(card).findByRole("link", { name: "smoke-1" });
  await within(card).findByText(/step 9/);
});

test("the machine is shown with its devices and problems, and examined again on demand", async () => {
  const asked: string[] = [];
  server.use(
    http.get("/api/doctor", ({ request }) => {
      asked.push(new URL(request.url).search);
      return HttpResponse.json(MACHINE);
    }),
  );
  const { user } = renderApp("/");
  const card = await screen.findByRole("region", { name: "This machine" });
  await within(card).findByText("1 × cpu");
  within(card).getByText("not installed");
  within(card).getByText(/The disk is full. Remove something./);
  await user.click(within(card).getByRole("button", { name: "Examine it again" }));
  await waitFor(() => {
    expect(asked).toEqual(["?fresh=false", "?fresh=true"]);
  });
});

test("what cannot be read is an error that can be tried again", async () => {
  server.use(...[...LISTS, "/api/doctor", "/api/demo"].map((path) => refuse(path)));
  renderApp("/");
  await screen.findByRole("heading", { name: "The home could not be read" });
  expect((await screen.findAllByRole("button", { name: "Try again" })).length).toBe(3);
});
