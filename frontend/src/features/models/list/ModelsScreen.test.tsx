import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import type { RegisteredModel } from "../../../api/schema.gen";
import { makeSummary } from "../../../testing/evaluations";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { makeModel, makeVersion, makeVersionDetail, VERSION_ID } from "../../../testing/models";
import { renderApp } from "../../../testing/render";
import { makeRun, runList } from "../../../testing/runs";
import { EXPORT, makeParity, makeReport, makeTask, taskList } from "../../../testing/tasks";
import { connections } from "../version/lineage";

const VERSION = `/api/models/versions/${VERSION_ID}`;
const VERSION_PAGE = `/models/versions/${VERSION_ID}`;

function models(data: RegisteredModel[]): void {
  server.use(
    answer("/api/models", { data, pagination: { limit: 100, offset: 0, total: data.length, total_is_exact: true } }),
  );
}

test("an empty list explains models", async () => {
  models([]);
  renderApp("/models");
  await screen.findByRole("heading", { name: "No models yet" });
  screen.getByText("tunix-rt models register my-model --run RUN");
});

test("a failed list shows an error", async () => {
  server.use(refuse("/api/models"));
  renderApp("/models");
  expect((await screen.findByRole("alert")).textContent).toContain("Look at the server's log.");
});

test("models are listed with versions and aliases", async () => {
  models([makeModel({ description: "Adds numbers." }), makeModel({ id: "other", name: "other", aliases: {} })]);
  server.use(answer("/api/models/sums", makeModel()), answer("/api/tunix/runs", runList([])));
  const { user, address } = renderApp("/models");
  const row = await screen.findByRole("row", { name: /sums/ });
  within(row).getByText("@champion → 2");
  within(row).getByText("Adds numbers.");
  await user.click(screen.getByRole("button", { name: "Register a run" }));
  expect(address()).toBe("/models?registering=true");
  await user.click(screen.getByRole("button", { name: "Close" }));
  await user.click(within(row).getByRole("link", { name: "sums" }));
  await screen.findByRole("heading", { name: "sums" });
});

test("a run is registered under an existing name", async () => {
  models([]);
  let sent: unknown;
  server.use(
    answer("/api/tunix/runs", runList([makeRun({ run_id: "run-b" })])),
    http.post("/api/models", () =>
      HttpResponse.json({ detail: "Taken.", next_step: "Choose another.", code: "conflict" }, { status: 409 }),
    ),
    http.post("/api/models/sums/versions/promote", async ({ request }) => {
      sent = await request.json();
      return HttpResponse.json(makeVersion(), { status: 201 });
    }),
    answer(VERSION, makeVersionDetail()),
  );
  const { user, address } = renderApp("/models?registering=true&run=run-b");
  await user.type(await screen.findByLabelText("Model name"), "sums");
  await user.type(screen.getByLabelText("Notes"), "good");
  await user.click(screen.getByRole("button", { name: "Register run" }));
  await waitFor(() => {
    expect(address()).toBe(VERSION_PAGE);
  });
  expect(sent).toEqual({ source_run_id: "run-b", description: "good" });
});

test("a model shows its versions and aliases", async () => {
  let sent: unknown;
  server.use(
    answer("/api/models/sums", makeModel({ aliases: {} })),
    http.put("/api/models/sums/aliases/champion", async ({ request }) => {
      sent = await request.json();
      server.use(answer("/api/models/sums", makeModel()));
      return HttpResponse.json(makeVersion());
    }),
    http.delete("/api/models/sums/aliases/champion", () => new HttpResponse(null, { status: 204 })),
  );
  const { user } = renderApp("/models/sums");
  await screen.findByRole("link", { name: "sums:2" });
  await user.click(screen.getByRole("button", { name: "Set alias" }));
  await screen.findByRole("row", { name: /@champion sums:2/ });
  expect(sent).toEqual({ version: 2 });
  server.use(answer("/api/models/sums", makeModel({ aliases: {} })));
  await user.click(screen.getByRole("button", { name: "Delete @champion" }));
  await screen.findByText(/An alias points to a version/);
});

test("an unknown model shows an error", async () => {
  server.use(refuse("/api/models/nobody", 404, "There is no model 'nobody'."));
  renderApp("/models/nobody");
  await screen.findByText("There is no model 'nobody'.");
});

test("the lineage links dataset, base, run and evaluations", async () => {
  const evaluations = Array.from({ length: 6 }, (_, index) => makeSummary({ evaluation_id: `e-${index}` }));
  server.use(answer(VERSION, makeVersionDetail({ evaluations })));
  renderApp(VERSION_PAGE);
  const lineage = within(await screen.findByRole("group", { name: "Lineage" }));
  expect(lineage.getByRole("link", { name: "sums-v1" }).getAttribute("href")).toBe("/datasets/sums-v1");
  expect(lineage.getByRole("link", { name: "run-b" }).getAttribute("href")).toBe("/runs/run-b");
  expect(lineage.getAllByRole("link", { name: "exam" })).toHaveLength(4);
  lineage.getByText("2 more");
  lineage.getByText("random weights");
});

test("lineage edges meet the middle of each node", () => {
  expect(connections(1, 2, 2)).toEqual([
    [1, 0.5],
    [1, 1.5],
  ]);
});

test("an unevaluated version says so and accepts notes", async () => {
  let sent: unknown;
  server.use(
    answer(VERSION, makeVersionDetail({ evaluations: [] })),
    http.put(`${VERSION}/notes`, async ({ request }) => {
      sent = await request.json();
      return HttpResponse.json(makeVersion());
    }),
  );
  const { user } = renderApp(VERSION_PAGE);
  await screen.findByText(/Not evaluated yet/);
  await user.type(screen.getByRole("textbox", { name: "Notes" }), "keep it");
  await user.click(screen.getByRole("button", { name: "Save notes" }));
  await screen.findByText("Notes saved.");
  expect(sent).toEqual({ notes: "keep it" });
});

test("verification reports damaged files", async () => {
  const verdict = { version: "sums:2", content_hash: "c".repeat(64), size_bytes: 10, problems: [] as string[] };
  server.use(
    answer(VERSION, makeVersionDetail()),
    answer(`${VERSION}/files`, { files: [{ path: "config.json", size_bytes: 10, sha256: "a".repeat(64) }] }),
    http.post(`${VERSION}/verify`, () => HttpResponse.json(verdict)),
  );
  const { user } = renderApp(`${VERSION_PAGE}?tab=files`);
  await screen.findByRole("row", { name: /config.json/ });
  await user.click(screen.getByRole("button", { name: "Verify files" }));
  await screen.findByText(/all bytes match/);
  verdict.problems = ["config.json is gone"];
  await user.click(screen.getByRole("button", { name: "Verify files" }));
  await screen.findByText("config.json is gone");
});

test("the card is shown rendered and as source", async () => {
  server.use(
    answer(VERSION, makeVersionDetail()),
    http.get(`${VERSION}/card`, () => HttpResponse.text("---\nlicense: other\n---\n\n# sums, version 2")),
  );
  const { user } = renderApp(`${VERSION_PAGE}?tab=card`);
  await screen.findByRole("heading", { name: "sums, version 2" });
  await user.click(screen.getByRole("checkbox", { name: /Markdown source/ }));
  screen.getByText(/license: other/);
});

test("tags are added and removed", async () => {
  const requests: string[] = [];
  server.use(
    answer(VERSION, makeVersionDetail({ tags: { stage: "tried" } })),
    http.put(`${VERSION}/tags/team`, async ({ request }) => {
      requests.push(JSON.stringify(await request.json()));
      return HttpResponse.json(makeVersion());
    }),
    http.delete(`${VERSION}/tags/stage`, () => {
      requests.push("removed");
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderApp(VERSION_PAGE);
  await screen.findByText("stage = tried");
  await user.type(screen.getByLabelText("Tag"), "team");
  await user.type(screen.getByLabelText("Value"), "a");
  await user.click(screen.getByRole("button", { name: "Add tag" }));
  await user.click(await screen.findByRole("button", { name: "Remove stage" }));
  await waitFor(() => {
    expect(requests).toEqual(['{"value":"a"}', "removed"]);
  });
});

test("an export is submitted, verified and downloaded", async () => {
  let sent: unknown;
  const done = makeTask({ request: EXPORT, status: "succeeded", result: { export: makeReport() } });
  const differing = makeTask({
    task_id: "other",
    request: EXPORT,
    status: "succeeded",
    result: {
      export: makeReport({
        passed: false,
        tokens: makeParity([
          [1, 2],
          [1, 3],
        ]),
      }),
    },
  });
  server.use(
    answer(VERSION, makeVersionDetail({ kind: "adapter" })),
    http.post("/api/tasks", async ({ request }) => {
      sent = await request.json();
      server.use(answer("/api/tasks", taskList([done, differing])));
      return HttpResponse.json(done, { status: 202 });
    }),
  );
  const { user } = renderApp(`${VERSION_PAGE}?tab=export`);
  await user.selectOptions(await screen.findByLabelText("Weights"), "float32");
  screen.getByText("tunix-rt models export sums:2 --as merged --dtype float32 --output sums-2");
  await user.click(screen.getByRole("button", { name: "Export" }));
  await screen.findByText("Identical model");
  expect(sent).toEqual({ kind: "export", model: "sums:2", form: "merged", dtype: "float32" });
  screen.getByText(/Both models generated the same tokens for 1 question/);
  screen.getByText(/different tokens for 1 of 1 question/);
  const [link] = screen.getAllByRole("link", { name: /Download, 10/ });
  expect(link?.getAttribute("href")).toBe(`/api/tasks/${done.task_id}/download`);
  await user.selectOptions(screen.getByLabelText("Format"), "Adapter (PEFT)");
  screen.getByText("tunix-rt models export sums:2 --as adapter --output sums-2-adapter");
});

test("deleting a version asks for confirmation", async () => {
  let isGone = false;
  server.use(
    answer(VERSION, makeVersionDetail()),
    answer("/api/models/sums", makeModel()),
    http.delete(VERSION, () => {
      isGone = true;
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user, address } = renderApp(VERSION_PAGE);
  await user.click(await screen.findByRole("button", { name: "Delete…" }));
  expect(isGone).toBe(false);
  await user.click(screen.getByRole("button", { name: "Delete version" }));
  await waitFor(() => {
    expect(address()).toBe("/models/sums");
  });
  expect(isGone).toBe(true);
});
