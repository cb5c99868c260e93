import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import type { RunDetail } from "../../../api/schema.gen";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { makeRunDetail, stepLine, streamAnswer, streamText } from "../../../testing/plans";
import { renderApp } from "../../../testing/render";
import { makeEvalSet, makeTask, taskList } from "../../../testing/tasks";

const RUN = "/api/tunix/runs/smoke-1";
const ENDED: [string, unknown][] = [
  ["service", event(0, "submitted", "Submitted.")],
  ["event", event(0, "override", "training.num_steps: 2 -> 20 (--set)")],
  ["metrics", stepLine(1, 3)],
  ["metrics", stepLine(2, 2.5)],
  ["log", { chunk: "step 1\nstep 2\n", is_partial: false }],
  ["status", { status: "succeeded" }],
];

function event(sequence: number, kind: string, message: string): object {
  return { sequence, time: "2026-11-15T12:00:00Z", kind, message, details: {} };
}

function show(run: RunDetail, messages = ENDED): void {
  server.use(answer(RUN, run), streamAnswer("smoke-1", messages));
}

beforeEach(() => {
  server.use(answer("/api/tunix/queue", { is_paused: false, num_runs: {}, num_held: 0, workers: [] }));
});

test("a run shows its status with predictions", async () => {
  const figures = { ...makeRunDetail().figures, peak_memory_bytes: 2 ** 30, peak_memory_of: "process", mfu: 0.41 };
  show(makeRunDetail({ figures } as Partial<RunDetail>));
  renderApp("/runs/smoke-1");
  const card = await screen.findByRole("region", { name: "Status" });
  await within(card).findByText(/step 2 of 20/);
  within(card).getByText("1.00 GiB (whole process, including Python)");
  within(card).getByText("3.00 GiB");
  within(card).getByText("41.0 %");
  within(card).getByText("500 tokens/s");
  expect(within(card).getByRole("progressbar", { name: "Steps done" }).getAttribute("value")).toBe("2");
});

test("curves have a table view", async () => {
  show(makeRunDetail());
  const { user } = renderApp("/runs/smoke-1");
  const loss = await screen.findByRole("figure", { name: "Loss" });
  await user.click(within(loss).getByRole("checkbox", { name: "Show as table" }));
  await within(loss).findByText("2.5");
});

test("log, events, recipe and plan are tabs in the URL", async () => {
  const overrides = [{ key: "training.num_steps", recipe_value: 2, used_value: 20, reason: "--set" }];
  show(makeRunDetail({ recipe: { training: { num_steps: 20 }, overrides } }));
  const { user, address } = renderApp("/runs/smoke-1?tab=log");
  await screen.findByText("step 2");
  await user.click(screen.getByRole("tab", { name: "Events" }));
  await screen.findByText("training.num_steps: 2 -> 20 (--set)");
  expect(address()).toBe("/runs/smoke-1?tab=events");
  await user.click(screen.getByRole("tab", { name: "Recipe" }));
  screen.getByRole("row", { name: "training.num_steps 2 20 --set" });
  expect(screen.getByLabelText("Resolved recipe as YAML").textContent).toBe("training:\n  num_steps: 20\n");
  await user.click(screen.getByRole("tab", { name: "Plan" }));
  screen.getByRole("img", { name: "Predicted memory per device: 3.00 GiB, within Limit 16.0 GiB" });
  await user.keyboard("1");
  await screen.findByRole("figure", { name: "Gradient norm" });
  expect(address()).toBe("/runs/smoke-1");
});

test("files are grouped and downloadable", async () => {
  const file = (path: string) => ({ name: path, path, size: 2048, modified_at: "2026-11-15T12:00:00Z" });
  const artifacts = [
    file("checkpoints/20/state.pt"),
    { ...file("log.txt"), sha256: "ab".repeat(32) },
    file("model/config.json"),
  ];
  show(makeRunDetail());
  server.use(answer(`${RUN}/artifacts`, { run_id: "smoke-1", artifacts, total_bytes: 6144 }));
  renderApp("/runs/smoke-1?tab=files");
  await screen.findByText("3 files, 6.00 KiB");
  const groups = screen.getAllByText(/1 file, /).map(({ textContent }) => textContent);
  expect(groups).toEqual(["Run: 1 file, 2.00 KiB", "model: 1 file, 2.00 KiB", "checkpoints/20: 1 file, 2.00 KiB"]);
  expect(screen.getByRole("link", { name: "log.txt" }).getAttribute("href")).toBe(`${RUN}/artifacts/log.txt/download`);
});

test("a running run is cancelled after confirmation and resumed", async () => {
  let status: RunDetail["status"] = "running";
  const requests: string[] = [];
  const action = (name: string, then: RunDetail["status"]) =>
    http.post(`${RUN}/${name}`, () => {
      requests.push(name);
      status = then;
      return HttpResponse.json(makeRunDetail({ status }));
    });
  server.use(
    http.get(RUN, () => HttpResponse.json(makeRunDetail({ status, figures: null }))),
    streamAnswer("smoke-1", ENDED.slice(0, -1)),
    action("cancel", "cancelled"),
    action("resume", "queued"),
    action("pause", "queued"),
  );
  const { user } = renderApp("/runs/smoke-1");
  await user.click(await screen.findByRole("button", { name: "Cancel…" }));
  await user.click(screen.getByRole("button", { name: "Cancel run" }));
  await user.click(await screen.findByRole("button", { name: "Resume" }));
  await user.click(await screen.findByRole("button", { name: "Pause" }));
  await waitFor(() => {
    expect(requests).toEqual(["cancel", "resume", "pause"]);
  });
});

test("a resumed run continues its stream from the cursor", async () => {
  let status: RunDetail["status"] = "cancelled";
  server.use(
    http.get(RUN, () => HttpResponse.json(makeRunDetail({ status }))),
    http.post(`${RUN}/resume`, () => {
      status = "running";
      return HttpResponse.json(makeRunDetail({ status }));
    }),
    http.get(`${RUN}/stream`, ({ request }) => {
      const cursor = new URL(request.url).searchParams.get("cursor");
      return streamText(cursor === null ? ENDED : [["metrics", stepLine(3 + Number(cursor), 2)]]);
    }),
  );
  const { user } = renderApp("/runs/smoke-1");
  await screen.findByText(/step 2 of 20/);
  await user.click(screen.getByRole("button", { name: "Resume" }));
  // The cursor after the six earlier messages.
  await screen.findByText(/step 9 of 20/);
});

test("a trained model shows next steps", async () => {
  show(makeRunDetail());
  renderApp("/runs/smoke-1");
  const next = within(await screen.findByRole("region", { name: "Next steps" }));
  const to = (name: string): string | null => next.getByRole("link", { name }).getAttribute("href");
  await next.findByRole("button", { name: "Evaluate" });
  expect(to("Chat")).toBe("/chat?model=smoke-1");
  expect(to("Register model")).toBe("/models?registering=true&run=smoke-1");
  expect(to("Pack evidence")).toBe("/evidence?packing=true&run=smoke-1");
  expect(decodeURIComponent(to("Compare") ?? "")).toBe('/compare?run=["smoke-1"]');
});

test("a read-only session sees no write actions", async () => {
  show(makeRunDetail());
  server.use(answer("/api/session", { scope: "read" }));
  renderApp("/runs/smoke-1");
  const next = within(await screen.findByRole("region", { name: "Next steps" }));
  next.getByRole("link", { name: "Chat" });
  expect(next.queryByRole("button", { name: "Evaluate" })).toBeNull();
  expect(next.queryByRole("link", { name: "Register model" })).toBeNull();
});

test("a run is evaluated with limits and live progress", async () => {
  const sent: unknown[] = [];
  const progress = { stage: "writing the answers", num_done: 3, num_total: 20, tokens_per_s: 120 };
  const task = makeTask({ model: "smoke-1", status: "running", progress });
  show(makeRunDetail());
  server.use(
    answer("/api/evalsets", { data: [makeEvalSet()] }),
    http.post("/api/tasks", async ({ request }) => {
      sent.push(await request.json());
      server.use(answer("/api/tasks", taskList([task])));
      return HttpResponse.json(task, { status: 202 });
    }),
    http.post(`/api/tasks/${task.task_id}/cancel`, () => {
      const cancelled = { ...task, status: "cancelled" as const, progress: null };
      server.use(answer("/api/tasks", taskList([cancelled])));
      return HttpResponse.json(cancelled);
    }),
  );
  const { user } = renderApp("/runs/smoke-1");
  await user.click(await screen.findByRole("button", { name: "Evaluate" }));
  const dialog = within(screen.getByRole("dialog", { name: "Evaluate smoke-1" }));
  await user.type(dialog.getByLabelText("Question limit"), "20");
  dialog.getByText("tunix-rt eval smoke-1 --eval-set eval_v2 --limit 20");
  await user.click(dialog.getByRole("button", { name: "Start evaluation" }));
  await screen.findByText("writing the answers: 3 of 20, 120 tokens/s");
  expect(screen.getByRole("progressbar", { name: "Answers generated" }).getAttribute("value")).toBe("3");
  const decoding = { max_new_tokens: 512 };
  expect(sent).toEqual([
    { kind: "evaluation", model: "smoke-1", eval_set: "eval_v2", decoding, is_lenient: false, limit: 20 },
  ]);
  await user.click(screen.getByRole("button", { name: "Cancel" }));
  await screen.findByText("cancelled");
});

test("a waiting run shows the reason", async () => {
  show(makeRunDetail({ status: "queued", figures: null, started_at: null }), []);
  renderApp("/runs/smoke-1");
  await screen.findByText("No worker is running. Start one:");
  const worker = { worker_id: "w", status: "active" };
  server.use(answer("/api/tunix/queue", { is_paused: true, num_runs: {}, num_held: 0, workers: [worker] }));
  await screen.findByText(/The queue is paused/);
});

test("a failed run shows the error and the next step", async () => {
  const failure = { code: "diverged", detail: "The loss is not finite.", next_step: "Lower the learning rate." };
  show(makeRunDetail({ status: "failed", exit_code: 6, failure }));
  renderApp("/runs/smoke-1");
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("Run failed with exit code 6");
  expect(alert.textContent).toContain("Lower the learning rate.");
});

test("a run is deleted after confirmation", async () => {
  let isRemoved = false;
  show(makeRunDetail());
  server.use(
    http.delete(RUN, () => {
      isRemoved = true;
      return new HttpResponse(null, { status: 204 });
    }),
    answer("/api/tunix/runs", { data: [], pagination: { limit: 100, offset: 0, total: 0, total_is_exact: true } }),
  );
  const { user, address } = renderApp("/runs/smoke-1");
  await user.click(await screen.findByRole("button", { name: "Delete…" }));
  const dialog = screen.getByRole("dialog", { name: "Delete this run?" });
  expect(dialog.textContent).toContain("log and metrics");
  await user.click(within(dialog).getByRole("button", { name: "Delete run" }));
  await waitFor(() => {
    expect([isRemoved, address()]).toEqual([true, "/runs"]);
  });
});

test("a read-only session cannot change a run", async () => {
  server.use(answer("/api/session", { scope: "read" }));
  show(makeRunDetail({ status: "cancelled" }));
  renderApp("/runs/smoke-1");
  await screen.findByRole("link", { name: "Duplicate" });
  expect(screen.queryByRole("button", { name: "Resume" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Delete…" })).toBeNull();
});

test("Duplicate reuses the request or the resolved recipe", async () => {
  show(makeRunDetail({ request: { recipe: "smoke_tiny", overrides: ["a=1"], target: "v5e-8" } }));
  const { unmount } = renderApp("/runs/smoke-1");
  const named = await screen.findByRole("link", { name: "Duplicate" });
  expect(decodeURIComponent(named.getAttribute("href") ?? "")).toBe(
    '/launch?recipe=smoke_tiny&set=["a=1"]&target=v5e-8',
  );
  unmount();
  show(makeRunDetail({ request: { recipe: { model: {} } } }));
  renderApp("/runs/smoke-1");
  const whole = await screen.findByRole("link", { name: "Duplicate" });
  expect(whole.getAttribute("href")).toBe("/launch?from=smoke-1");
});

test("an unknown run shows an error", async () => {
  server.use(refuse(RUN, 404, "There is no run smoke-1."));
  renderApp("/runs/smoke-1");
  expect((await screen.findByRole("alert")).textContent).toContain("There is no run smoke-1.");
});
