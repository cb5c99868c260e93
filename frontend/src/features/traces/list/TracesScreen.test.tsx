import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import { LINT_CODES, OTHER_ID, TRACE_ID, traceList } from "../../../testing/traceFixtures";
import { listCommand, listPath, orderOf, sortOf } from "./filters";

const LIST = traceList({ "What is 2 + 3?": 40, "Two trains": 100 });

beforeEach(() => {
  server.use(answer("/api/traces/lint/codes", LINT_CODES), answer("/api/traces", LIST));
});

/** Records the list queries and answers each with `body`. */
function recordQueries(body = LIST): URLSearchParams[] {
  const requests: URLSearchParams[] = [];
  server.use(
    http.get("/api/traces", ({ request }) => {
      const query = new URL(request.url).searchParams;
      if (query.get("limit") !== "1") requests.push(query);
      return HttpResponse.json(body);
    }),
  );
  return requests;
}

test("traces are listed with score, steps and source", async () => {
  renderApp("/traces");
  const row = await screen.findByRole("row", { name: /What is 2/ });
  within(row).getByText("40");
  within(row).getByText("books");
  screen.getByText("2 traces");
  expect(screen.getByRole("link", { name: "Two trains" }).getAttribute("href")).toBe(`/traces/${OTHER_ID}`);
});

test("filters update the URL and the request", async () => {
  const requests = recordQueries();
  const { user, address } = renderApp("/traces?tag=easy");
  await user.type(await screen.findByLabelText("Search"), "train");
  await user.selectOptions(await screen.findByLabelText("Finding"), "arithmetic-wrong");
  await user.type(screen.getByLabelText("Max score"), "90");
  await user.type(screen.getByLabelText("Meta"), "level=2, kind=a");
  await waitFor(() => {
    const query = requests.at(-1);
    expect(query?.get("query")).toBe("train");
    expect(query?.getAll("code")).toEqual(["arithmetic-wrong"]);
    expect(query?.get("max_score")).toBe("90");
    expect(query?.getAll("meta")).toEqual(["level=2", "kind=a"]);
    expect(query?.getAll("tag")).toEqual(["easy"]);
  });
  await user.click(screen.getByRole("button", { name: "Clear filters" }));
  await waitFor(() => {
    expect(address()).toBe("/traces");
  });
});

test("clicking the score header sorts on the server", async () => {
  const requests = recordQueries();
  const { user, address } = renderApp("/traces");
  const header = await screen.findByRole("columnheader", { name: /Score/ });
  await user.click(within(header).getByRole("button"));
  await waitFor(() => {
    expect(requests.at(-1)?.get("order")).toBe("worst");
  });
  expect(address()).toBe("/traces?order=worst");
  expect(["newest", "oldest", "best", "worst"].map((order) => orderOf(sortOf(order as "best")))).toEqual([
    undefined,
    "oldest",
    "best",
    "worst",
  ]);
});

test("a view is saved, opened and deleted", async () => {
  const { user, address } = renderApp("/traces?source=books");
  await user.click(await screen.findByRole("button", { name: "Save view" }));
  await user.type(screen.getByLabelText("View name"), "My books{Enter}");
  await user.click(screen.getByRole("link", { name: "All" }));
  await waitFor(() => {
    expect(address()).toBe("/traces");
  });
  await user.click(screen.getByRole("link", { name: "My books" }));
  await waitFor(() => {
    expect(address()).toBe("/traces?source=books");
  });
  await user.click(screen.getByRole("button", { name: "Delete view My books" }));
  expect(screen.queryByRole("link", { name: "My books" })).toBeNull();
});

test("invalid stored views are ignored", async () => {
  localStorage.setItem("tunix-rt.traces.views", '[{"name":1},{"name":"Mine","search":{"min_score":200}},"x"]');
  renderApp("/traces");
  expect((await screen.findByRole("link", { name: "Mine" })).getAttribute("href")).toBe("/traces");
});

test("two selected traces can be compared", async () => {
  const { user } = renderApp("/traces");
  await user.click(await screen.findByRole("checkbox", { name: "Select What is 2 + 3?" }));
  screen.getByText("Select one more to compare.");
  await user.click(screen.getByRole("checkbox", { name: "Select Two trains" }));
  const link = screen.getByRole("link", { name: "Compare selected" });
  expect(link.getAttribute("href")).toContain(`base=${TRACE_ID}&other=${OTHER_ID}`);
});

test("Enter on a row opens the trace", async () => {
  server.use(refuse("/api/traces/:id"), refuse("/api/traces/:id/report"), refuse("/api/traces/:id/revisions"));
  const { user, address } = renderApp("/traces");
  (await screen.findByRole("row", { name: /What is 2/ })).focus();
  await user.keyboard("{Enter}");
  await waitFor(() => {
    expect(address()).toBe(`/traces/${TRACE_ID}`);
  });
});

test("unlinted traces are linted on request", async () => {
  let isLinted = false;
  server.use(
    http.get("/api/traces", () => HttpResponse.json(traceList({ "What is 2 + 3?": isLinted ? 40 : null }))),
    http.post("/api/traces/score", () => {
      isLinted = true;
      return HttpResponse.json({ num_scored: 1 });
    }),
  );
  const { user } = renderApp("/traces");
  await screen.findByText(/1 trace has not been linted/);
  await user.click(screen.getByRole("button", { name: "Lint now" }));
  await screen.findByText("Linted 1 trace.");
  await within(await screen.findByRole("row", { name: /What is 2/ })).findByText("40");
});

test("an empty list explains how to add traces", async () => {
  server.use(answer("/api/traces", traceList({})));
  const { user } = renderApp("/traces");
  const empty = await screen.findByRole("region", { name: "No traces yet" });
  within(empty).getByText("tunix-rt data ingest dev-reasoning-v2");
  await user.click(within(empty).getByRole("button", { name: "Import a file" }));
  screen.getByRole("dialog", { name: "Import traces" });
});

test("filters without matches show an empty state", async () => {
  server.use(answer("/api/traces", traceList({})));
  renderApp("/traces?query=nothing");
  await screen.findByRole("heading", { name: "No traces match these filters" });
});

test("a file is imported or its invalid rows are listed", async () => {
  const body = { detail: "Line 1: prompt is empty.", next_step: "Correct it.", code: "data" };
  server.use(http.post("/api/datasets/ingest", () => HttpResponse.json(body, { status: 422 })));
  const { user } = renderApp("/traces");
  await user.click(await screen.findByRole("button", { name: "Import a file" }));
  const dialog = screen.getByRole("dialog", { name: "Import traces" });
  await user.upload(within(dialog).getByLabelText("File"), new File(["{}"], "own.jsonl"));
  await user.type(within(dialog).getByLabelText("Source"), "own");
  await user.click(within(dialog).getByRole("button", { name: "Import" }));
  expect((await within(dialog).findByRole("alert")).textContent).toContain("Line 1: prompt is empty.");
  const report = { num_imported: 2, num_present: 0 };
  server.use(http.post("/api/datasets/ingest", () => HttpResponse.json({ report })));
  await user.click(within(dialog).getByRole("button", { name: "Import" }));
  await screen.findByText("Imported 2 traces; 0 were already present.");
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("an error shows the next step and can be retried", async () => {
  server.use(refuse("/api/traces"));
  const { user } = renderApp("/traces");
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("Look at the server's log.");
  server.use(answer("/api/traces", LIST));
  await user.click(within(alert).getByRole("button", { name: "Try again" }));
  await screen.findByRole("row", { name: /What is 2/ });
});

test("the filtered list can be copied as a command", () => {
  const search = { query: "two words", code: ["arithmetic-wrong"], max_score: 50, order: "worst" as const };
  expect(listCommand(search)).toBe(
    "tunix-rt traces list --query 'two words' --code arithmetic-wrong --max-score 50 --order worst",
  );
  expect(listPath(search)).toBe("/api/traces?query=two+words&code=arithmetic-wrong&max_score=50&order=worst");
  expect(listPath({})).toBe("/api/traces");
});
