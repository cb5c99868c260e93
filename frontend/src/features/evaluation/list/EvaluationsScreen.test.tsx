import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { evaluationList, makeSummary, makeTrainedSummary, OTHER_ID, BASE_ID } from "../../../testing/evaluations";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import { makeEvalSet, makeTask, taskList } from "../../../testing/tasks";
import { listCommand, listPath } from "../filters";

const LIST = "/api/evaluations";

test("evaluations are listed with score, interval and n", async () => {
  const unscored = { evaluation_id: "33333333", primary_score: null, low: null, high: null };
  server.use(
    answer(LIST, evaluationList([makeTrainedSummary(), makeSummary({ num_unscored: 3 }), makeSummary(unscored)])),
  );
  renderApp("/evaluations");
  const row = await screen.findByRole("row", { name: /run-b/ });
  expect(row.textContent).toContain("75.0 %");
  expect(row.textContent).toContain("95 % CI 60.0 % to 86.0 %, n = 40");
  within(row).getByText("trained");
  screen.getByText("– nothing scored");
});

test("two selected evaluations are compared", async () => {
  server.use(answer(LIST, evaluationList([makeTrainedSummary(), makeSummary()])));
  const { user, address } = renderApp("/evaluations");
  await user.click(await screen.findByRole("checkbox", { name: `Select ${BASE_ID}` }));
  await user.click(screen.getByRole("checkbox", { name: `Select ${OTHER_ID}` }));
  const link = await screen.findByRole("link", { name: "Compare selected" });
  expect(link.getAttribute("href")).toBe(`/evaluations/compare?base=${BASE_ID}&other=${OTHER_ID}`);
  await user.click(screen.getByRole("checkbox", { name: `Select ${OTHER_ID}` }));
  await waitFor(() => {
    expect(decodeURIComponent(address())).toBe(`/evaluations?pick=["${BASE_ID}"]`);
  });
});

test("filters and order update the URL and the request", async () => {
  const requests: string[] = [];
  server.use(
    http.get(LIST, ({ request }) => {
      requests.push(new URL(request.url).search);
      return HttpResponse.json(evaluationList([makeSummary()]));
    }),
  );
  const { user, address } = renderApp("/evaluations?eval_set=exam");
  await user.selectOptions(await screen.findByLabelText("Order"), "best first");
  await user.type(screen.getByLabelText("Model"), "run");
  await waitFor(() => {
    expect(requests.at(-1)).toContain("eval_set=exam&order=best&model=run");
  });
  await user.click(screen.getByRole("button", { name: "Clear filters" }));
  await waitFor(() => {
    expect(address()).toBe("/evaluations?order=best");
  });
});

test("a model is evaluated and its tasks are listed", async () => {
  let sent: unknown;
  const failure = { code: "error", detail: "No device.", next_step: "Choose another." };
  server.use(
    answer(LIST, evaluationList([makeSummary()])),
    answer("/v1/models", { object: "list", data: [{ id: "sums:2", object: "model", created: 0, owned_by: "x" }] }),
    answer("/api/evalsets", { data: [makeEvalSet(), makeEvalSet({ name: "broken", is_valid: false })] }),
    http.post("/api/tasks", async ({ request }) => {
      sent = await request.json();
      const failed = makeTask({ task_id: "other", status: "failed", failure });
      server.use(answer("/api/tasks", taskList([makeTask(), failed])));
      return HttpResponse.json(makeTask(), { status: 202 });
    }),
  );
  const { user, address } = renderApp("/evaluations");
  await user.click(await screen.findByRole("button", { name: "Evaluate a model" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Evaluate a model" }));
  await dialog.findByRole("option", { name: "sums:2" });
  await user.selectOptions(dialog.getByLabelText("Model"), "sums:2");
  expect(dialog.queryByRole("option", { name: /broken/ })).toBeNull();
  await user.click(dialog.getByRole("checkbox", { name: /outside the requested format/ }));
  await user.click(dialog.getByRole("button", { name: "Start evaluation" }));
  await screen.findByText("Waiting for a worker with a free slot.");
  screen.getByText("No device. Choose another.");
  expect(sent).toMatchObject({ model: "sums:2", is_lenient: true });
  await waitFor(() => {
    expect(address()).toBe("/evaluations");
  });
});

test("a refused evaluation shows the reason", async () => {
  const body = { detail: "There is no worker room.", next_step: "Start a worker.", code: "conflict" };
  server.use(
    answer(LIST, evaluationList([])),
    answer("/v1/models", { object: "list", data: [{ id: "sums:2", object: "model", created: 0, owned_by: "x" }] }),
    answer("/api/evalsets", { data: [] }),
    http.post("/api/tasks", () => HttpResponse.json(body, { status: 409 })),
  );
  const { user } = renderApp("/evaluations?evaluating=true");
  const dialog = within(await screen.findByRole("dialog", { name: "Evaluate a model" }));
  await dialog.findByRole("option", { name: "sums:2" });
  await user.selectOptions(dialog.getByLabelText("Model"), "sums:2");
  await user.click(dialog.getByRole("button", { name: "Start evaluation" }));
  await dialog.findByText("There is no worker room.");
});

test("an empty list explains how to evaluate a model", async () => {
  server.use(answer(LIST, evaluationList([])));
  renderApp("/evaluations");
  await screen.findByRole("heading", { name: "No evaluations yet" });
  screen.getByText("tunix-rt eval RUN --eval-set eval_v2");
});

test("filters without matches show an empty state", async () => {
  server.use(answer(LIST, evaluationList([])));
  renderApp("/evaluations?model=nothing");
  await screen.findByRole("heading", { name: "No evaluations match these filters" });
});

test("an error shows the next step", async () => {
  server.use(refuse(LIST));
  renderApp("/evaluations");
  expect((await screen.findByRole("alert")).textContent).toContain("Look at the server's log.");
});

test("the filtered list can be copied as a command", () => {
  const filters = { model: "two words", eval_set: "exam", order: "best" as const };
  expect(listCommand(filters)).toBe("tunix-rt eval list --model 'two words' --eval-set exam");
  expect(listPath(filters)).toBe("/api/evaluations?model=two+words&eval_set=exam&order=best");
});
