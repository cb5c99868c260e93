import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import { makeRun, runList } from "../../../testing/runs";
import { listCommand, listPath } from "./filters";

const QUEUE = { is_paused: false, num_runs: { running: 1 }, num_held: 0, workers: [] };

beforeEach(() => {
  server.use(answer("/api/tunix/queue", QUEUE), answer("/api/tunix/sparklines", { data: [] }));
});

test("runs are listed with status, steps and loss", async () => {
  const running = makeRun({ run_id: "live-2", status: "running", figures: null, finished_at: null });
  server.use(
    answer("/api/tunix/runs", runList([running, makeRun()])),
    answer("/api/tunix/sparklines", { data: [{ run_id: "live-2", steps: [1, 7], losses: [3, 1.25] }] }),
  );
  renderApp("/runs");
  const live = await screen.findByRole("row", { name: /live-2/ });
  expect(within(live).getByText("running")).toBeTruthy();
  await within(live).findByRole("img", { name: "Loss of live-2: from 3 to 1.25" });
  expect(within(live).getByText("7")).toBeTruthy();
  const done = screen.getByRole("row", { name: /smoke-1/ });
  expect(within(done).getByText("20 / 20")).toBeTruthy();
  expect(within(done).getByText("2 min 0 s")).toBeTruthy();
  expect(screen.getByRole("grid", { name: "Runs" }).getAttribute("aria-rowcount")).toBe("3");
});

test("a status change on the server is shown", async () => {
  let status: "queued" | "running" = "queued";
  server.use(http.get("/api/tunix/runs", () => HttpResponse.json(runList([makeRun({ status })]))));
  renderApp("/runs");
  const row = await screen.findByRole("row", { name: /smoke-1/ });
  within(row).getByText("queued");
  status = "running";
  await within(row).findByText("running");
});

test("filters update the URL and the request", async () => {
  const requests: string[] = [];
  server.use(
    http.get("/api/tunix/runs", ({ request }) => {
      requests.push(new URL(request.url).search);
      return HttpResponse.json(runList([makeRun()]));
    }),
  );
  const { user, address } = renderApp("/runs?status=%5B%22failed%22%5D");
  expect((await screen.findByRole("checkbox", { name: "failed" })).getAttribute("checked")).not.toBeNull();
  await user.click(screen.getByRole("checkbox", { name: "running" }));
  await user.type(screen.getByLabelText("Search"), "tiny");
  await waitFor(() => {
    expect(requests.at(-1)).toContain("status=running&status=failed");
    expect(requests.at(-1)).toContain("text=tiny");
  });
  expect(decodeURIComponent(address())).toContain("text=tiny");
  await user.click(screen.getByRole("button", { name: "Clear filters" }));
  await waitFor(() => {
    expect(address()).toBe("/runs");
  });
});

test("an empty list explains how to start a run", async () => {
  server.use(answer("/api/tunix/runs", runList([])));
  renderApp("/runs");
  await screen.findByRole("heading", { name: "No runs yet" });
  screen.getByText("tunix-rt runs submit smoke_tiny");
  screen.getByText("no active worker");
});

test("filters without matches show an empty state", async () => {
  server.use(answer("/api/tunix/runs", runList([])));
  renderApp("/runs?text=nothing");
  await screen.findByRole("heading", { name: "No runs match these filters" });
});

test("an error shows the next step and can be retried", async () => {
  server.use(refuse("/api/tunix/runs"));
  const { user } = renderApp("/runs");
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("The database does not answer.");
  expect(alert.textContent).toContain("Look at the server's log.");
  server.use(answer("/api/tunix/runs", runList([makeRun()])));
  await user.click(within(alert).getByRole("button", { name: "Try again" }));
  await screen.findByRole("row", { name: /smoke-1/ });
});

test("selected runs are compared in selection order", async () => {
  server.use(answer("/api/tunix/runs", runList([makeRun({ run_id: "later-2" }), makeRun()])));
  const { user, address } = renderApp("/runs");
  await user.click(await screen.findByRole("checkbox", { name: "Select smoke-1" }));
  await user.click(screen.getByRole("checkbox", { name: "Select later-2" }));
  const link = await screen.findByRole("link", { name: "Compare 2 selected" });
  expect(decodeURIComponent(link.getAttribute("href") ?? "")).toBe('/compare?run=["smoke-1","later-2"]');
  await user.click(screen.getByRole("checkbox", { name: "Select smoke-1" }));
  await waitFor(() => {
    expect(decodeURIComponent(address())).toBe('/runs?pick=["later-2"]');
  });
});

test("Enter on a row opens the run", async () => {
  server.use(answer("/api/tunix/runs", runList([makeRun()])));
  const { user, address } = renderApp("/runs");
  (await screen.findByRole("row", { name: /smoke-1/ })).focus();
  await user.keyboard("{Enter}");
  await waitFor(() => {
    expect(address()).toBe("/runs/smoke-1");
  });
});

test("the filtered list can be copied as a command", () => {
  const filters = { text: "two words", status: ["failed" as const, "succeeded" as const] };
  expect(listCommand(filters)).toBe("tunix-rt runs list --text 'two words' --status failed --status succeeded");
  expect(listPath(filters)).toBe("/api/tunix/runs?text=two+words&status=failed&status=succeeded");
  expect(listPath({})).toBe("/api/tunix/runs");
});

test("filters can be saved as a view", async () => {
  server.use(answer("/api/tunix/runs", runList([makeRun()])));
  const { user, address } = renderApp("/runs");
  const views = await screen.findByRole("navigation", { name: "Views" });
  await user.click(within(views).getByRole("link", { name: "Failed" }));
  await waitFor(() => {
    expect(decodeURIComponent(address())).toContain('status=["failed"]');
  });
  await user.type(screen.getByRole("searchbox", { name: "Search" }), "x");
  await user.click(await within(views).findByRole("button", { name: "Save view" }));
  await user.type(within(views).getByRole("textbox", { name: "View name" }), "Mine{Enter}");
  const saved = await within(views).findByRole("link", { name: "Mine" });
  expect(saved.getAttribute("aria-current")).toBe("page");
  await user.click(within(views).getByRole("button", { name: "Delete view Mine" }));
  expect(within(views).queryByRole("link", { name: "Mine" })).toBeNull();
});
