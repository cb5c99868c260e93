import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { answer, http, HttpResponse, refuse, server } from "../../testing/http";
import { renderApp } from "../../testing/render";
import { JOB_ID, jobList, makeJob, makeTrial } from "../../testing/sweeps";
import { choicesOf, jobOf, searchOf, specText } from "./create/sweepText";

const PAGE = `/tuning/${JOB_ID}`;
const API = `/api/tuning/jobs/${JOB_ID}`;

beforeEach(() => {
  server.use(
    answer("/api/tuning/jobs", jobList([makeJob()])),
    answer(API, makeJob()),
    answer("/api/tunix/recipes", { data: [{ name: "smoke_tiny", is_shipped: true }] }),
    answer("/api/tunix/recipe-settings", {
      data: [{ key: "training.learning_rate", allowed: "a number above 0", default: 1, meaning: "The peak rate." }],
    }),
    answer("/api/datasets", { data: [], pagination: { limit: 100, offset: 0, total: 0, total_is_exact: true } }),
    answer("/api/evalsets", { data: [{ name: "exam", num_items: 40 }] }),
  );
});

test("sweeps are listed with trials and objective", async () => {
  renderApp("/tuning");
  const row = await screen.findByRole("row", { name: /rates/ });
  expect(within(row).getByText("3 / 3")).toBeTruthy();
  expect(within(row).getByText("lowest validation loss")).toBeTruthy();
  expect(within(row).getByText("learning_rate, name")).toBeTruthy();
});

test("the list has empty and error states", async () => {
  server.use(answer("/api/tuning/jobs", jobList([])));
  const { unmount } = renderApp("/tuning");
  await screen.findByRole("heading", { name: "No sweeps yet" });
  unmount();
  server.use(refuse("/api/tuning/jobs"));
  renderApp("/tuning");
  await screen.findByText("Could not load the sweeps");
});

test("a sweep shows its status and sorted trials", async () => {
  const { user, address } = renderApp(PAGE);
  await screen.findByText("3 of 3 trials have finished: 2 succeeded, 1 failed.");
  expect(screen.getByRole("img", { name: "2 trials over 3 axes" })).toBeTruthy();
  expect(screen.getByText(/1 without a value is not drawn/)).toBeTruthy();
  const table = screen.getByRole("grid", { name: "Trials" });
  expect(within(table).getByRole("row", { name: /1\.9 best/ })).toBeTruthy();
  await user.click(within(table).getByRole("button", { name: /validation loss/ }));
  await waitFor(() => {
    expect(address()).toContain("sort=value");
  });
  const [, first, , last] = within(table).getAllByRole("row");
  expect(first?.textContent).toContain("best");
  expect(last?.textContent).toContain("The loss is not finite.");
});

test("a trial selected in the table is highlighted", async () => {
  const { user, address } = renderApp(PAGE);
  await screen.findByText(/Trial 1 is highlighted/);
  await user.click(screen.getByRole("checkbox", { name: "Select trial 0" }));
  await screen.findByText(/Trial 0 is highlighted/);
  expect(address()).toContain("trial=0");
});

test("importances are summarized and drawn", async () => {
  const importances = { "training.learning_rate": 0.71, "training.optimizer.name": 0.29 };
  server.use(answer(`${API}/importances`, { num_trials: 8, importances }));
  renderApp(`${PAGE}?tab=importances`);
  await screen.findByText(/training\.learning_rate accounts for 71 %/);
  expect(screen.getByText(/only indicative/)).toBeTruthy();
});

test("importances need enough trials", async () => {
  server.use(answer(`${API}/importances`, { num_trials: 2, importances: {} }));
  const { unmount } = renderApp(`${PAGE}?tab=importances`);
  await screen.findByText(/2 trials succeeded\. Importances need at least 4/);
  unmount();
  server.use(answer(`${API}/importances`, { num_trials: 5, importances: {} }));
  renderApp(`${PAGE}?tab=importances`);
  await screen.findByText(/No setting made a difference/);
});

test("the best recipe can be trained and registered", async () => {
  server.use(
    answer(`${API}/best`, {
      run_id: `${JOB_ID}-t0001`,
      params: { "training.learning_rate": 0.002 },
      value: 1.9,
      recipe_yaml: "training:\n  learning_rate: 0.002\n",
    }),
    http.post(`${API}/promote-best`, async ({ request }) => {
      const body = (await request.json()) as { model: string };
      return HttpResponse.json({ id: "v3", model: body.model, version: 3 }, { status: 201 });
    }),
  );
  const { user } = renderApp(`${PAGE}?tab=best`);
  const train = await screen.findByRole("link", { name: "Train with this recipe" });
  expect(train.getAttribute("href")).toBe(`/launch?from=${JOB_ID}-t0001`);
  expect(screen.getByText(/learning_rate: 0\.002/)).toBeTruthy();
  await user.type(screen.getByRole("textbox", { name: "Model name" }), "solver");
  await user.click(screen.getByRole("button", { name: "Register" }));
  await screen.findByRole("link", { name: "solver, version 3" });
});

test("a sweep without results can be copied", async () => {
  server.use(answer(API, makeJob({ status: "running", trials: [], best_value: null, best_params: null })));
  const { user } = renderApp(`${PAGE}?tab=best`);
  await screen.findByText(/there is no best recipe/);
  await user.click(screen.getByRole("tab", { name: "Trials" }));
  await screen.findByText(/No trial has started/);
  await user.click(screen.getByRole("tab", { name: "Search space" }));
  await screen.findByRole("row", { name: "training.learning_rate loguniform 1.00e-4 to 0.1" });
  await user.click(screen.getByRole("link", { name: "New sweep like this" }));
  await screen.findByRole("heading", { level: 1, name: "New sweep" });
  expect(screen.getByDisplayValue("adamw, adafactor")).toBeTruthy();
});

test("a copied sweep keeps its inline recipe", async () => {
  const recipe = { model: { id: "tiny-gemma" } };
  server.use(answer(API, makeJob({ spec: { ...makeJob().spec, recipe } })));
  const { user, address } = renderApp(`${PAGE}?tab=spec`);
  await user.click(await screen.findByRole("link", { name: "New sweep like this" }));
  await screen.findByRole("option", { name: "inline recipe of rates-3f2a" });
  expect(address()).toContain(`like=${JOB_ID}`);
  await screen.findByText(/All keys and range limits are validated/);
  expect(jobOf({ like: JOB_ID }, recipe).recipe).toEqual(recipe);
});

test("a sweep is cancelled and deleted after confirmation", async () => {
  const requests: string[] = [];
  server.use(
    answer(API, makeJob({ status: "running", trials: [makeTrial(0, { status: "pruned" })] })),
    http.post(`${API}/cancel`, () => {
      requests.push("cancel");
      server.use(answer(API, makeJob({ status: "cancelled" })));
      return HttpResponse.json({ job_id: JOB_ID, status: "cancelling", message: "Its trials are stopping." });
    }),
    http.delete(API, () => {
      requests.push("delete");
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderApp(PAGE);
  await user.click(await screen.findByRole("button", { name: "Cancel…" }));
  await user.click(screen.getByRole("button", { name: "Cancel sweep" }));
  await screen.findByRole("button", { name: "Resume" });
  await user.click(screen.getByRole("button", { name: "Delete…" }));
  await user.click(screen.getByRole("button", { name: "Delete sweep" }));
  await screen.findByRole("heading", { level: 1, name: "Tuning" });
  expect(requests).toEqual(["cancel", "delete"]);
});

test("a sweep form is kept in the URL and submitted", async () => {
  const sent: unknown[] = [];
  server.use(
    http.post("/api/tuning/jobs", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json(makeJob({ status: "queued" }), { status: 201 });
    }),
    http.post(`${API}/start`, () => HttpResponse.json({ job_id: JOB_ID, status: "running", message: "Soon." })),
  );
  const { user, address } = renderApp("/tuning/new");
  const start = await screen.findByRole("button", { name: "Start sweep" });
  expect(start).toHaveProperty("disabled", true);
  await user.type(screen.getByRole("textbox", { name: "Name" }), "rates");
  await user.click(screen.getByRole("button", { name: "Add setting" }));
  const second = await screen.findByRole("group", { name: "Setting 2" });
  await user.type(within(second).getByRole("combobox", { name: "Setting" }), "lora.rank");
  await user.selectOptions(within(second).getByRole("combobox", { name: "Distribution" }), "list of values");
  await user.type(within(second).getByRole("textbox", { name: /Values/ }), "8, 16");
  await user.type(screen.getByRole("textbox", { name: "Overrides for every trial" }), "training.num_steps=2");
  await user.type(screen.getByRole("spinbutton", { name: "Max trials" }), "4");
  await user.selectOptions(screen.getByRole("combobox", { name: "Pruner" }), "Hyperband");
  expect(decodeURIComponent(address())).toContain("lora.rank=choice(8,+16)");
  await user.click(start);
  await screen.findByRole("heading", { level: 1, name: "rates" });
  expect(sent).toEqual([
    expect.objectContaining({
      name: "rates",
      overrides: ["training.num_steps=2"],
      num_samples: 4,
      pruner: "hyperband",
      search_space: {
        "training.learning_rate": { type: "loguniform", min: 0.0003, max: 0.03 },
        "lora.rank": { type: "choice", values: [8, 16] },
      },
    }),
  ]);
});

test("a refused sweep shows the next step", async () => {
  const refusal = { detail: "No recipe has the key lora.rnk.", next_step: "Did you mean lora.rank?", code: "input" };
  server.use(http.post("/api/tuning/jobs", () => HttpResponse.json(refusal, { status: 422 })));
  const { user } = renderApp("/tuning/new?name=rates&metric=score&evalset=exam");
  await user.click(await screen.findByRole("button", { name: "Start sweep" }));
  await screen.findByText(/Did you mean lora\.rank\?/);
});

test("a sweep survives a round trip through the form", () => {
  expect(choicesOf("8, 0.5, adamw, [q, v], null")).toEqual([8, 0.5, "adamw", ["q", "v"], null]);
  const search = searchOf({ ...makeJob().spec, overrides: ["a.b=1"], budget: { device_minutes: 2 } }, JOB_ID);
  const job = jobOf(search);
  expect(job.search_space).toEqual(makeJob().spec.search_space);
  expect(job.num_samples).toBeUndefined();
  expect(specText(job)).toContain(
    'search_space:\n  training.learning_rate: {"type":"loguniform","min":0.0001,"max":0.1}',
  );
});
