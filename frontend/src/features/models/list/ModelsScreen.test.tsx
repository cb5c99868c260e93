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

test("without models the screen teaches what one is", async () => {
  models([]);
  renderApp("/models");
  await screen.findByRole("heading", { name: "No models yet" });
  screen.getByText("tunix-rt models register my-model --run RUN");
});

test("models that cannot be read say why", async () => {
  server.use(refuse("/api/models"));
  renderApp("/models");
  expect((await screen.findByRole("alert")).textContent).toContain("Look at the server's log.");
});

test("models stand with their versions and what their aliases mean, and open by a key", async () => {
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

test("a run is registered under a name that may be there already", async () => {
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
  await user.type(await screen.findByLabelText("Name of the model"), "sums");
  await user.type(screen.getByLabelText("Notes"), "good");
  await user.click(screen.getByRole("button", { name: "Register the run" }));
  await waitFor(() => {
    expect(address()).toBe(VERSION_PAGE);
  });
  expect(sent).toEqual({ source_run_id: "run-b", description: "good" });
});

test("a model shows its versions, and an alias moves", async () => {
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
  await user.click(screen.getByRole("button", { name: "Let it mean this version" }));
  await screen.findByRole("row", { name: /@champion sums:2/ });
  expect(sent).toEqual({ version: 2 });
  server.use(answer("/api/models/sums", makeModel({ aliases: {} })));
  await user.click(screen.getByRole("button", { name: "Forget @champion" }));
  await screen.findByText(/An alias says which version counts/);
});

test("an unknown model says so", async () => {
  server.use(refuse("/api/models/nobody", 404, "There is no model 'nobody'."));
  renderApp("/models/nobody");
  await screen.findByText("There is no model 'nobody'.");
});

test("the lineage of a version leads from dataset and base over the run to its evaluations", async () => {
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

test("lines of the lineage meet the middle of each node", () => {
  expect(connections(1, 2, 2)).toEqual([
    [1, 0.5],
    [1, 1.5],
  ]);
});

test("a version that was not measured says so, and takes notes", async () => {
  let sent: unknown;
  server.use(
    answer(VERSION, makeVersionDetail({ evaluations: [] })),
    http.put(`${VERSION}/notes`, async ({ request }) => {
      sent = await request.json();
      return HttpResponse.json(makeVersion());
    }),
  );
  const { user } = renderApp(VERSION_PAGE);
  await screen.findByText(/It was not measured yet/);
  await user.type(screen.getByRole("textbox", { name: "Notes" }), "keep it");
  await user.click(screen.getByRole("button", { name: "Save the notes" }));
  await screen.findByText("The notes are saved.");
  expect(sent).toEqual({ notes: "keep it" });
});

test("every byte is read again, and damage is named", async () => {
  const verdict = { version: "sums:2", content_hash: "c".repeat(64), size_bytes: 10, problems: [] as string[] };
  server.use(
    answer(VERSION, makeVersionDetail()),
    answer(`${VERSION}/files`, { files: [{ path: "config.json", size_bytes: 10, sha256: "a".repeat(64) }] }),
    http.post(`${VERSION}/verify`, () => HttpResponse.json(verdict)),
  );
  const { user } = renderApp(`${VERSION_PAGE}?tab=files`);
  await screen.findByRole("row", { name: /config.json/ });
  await user.click(screen.getByRole("button", { name: "Verify every byte" }));
  await screen.findByText(/every byte is as registered/);
  verdict.problems = ["config.json is gone"];
  await user.click(screen.getByRole("button", { name: "Verify every byte" }));
  await screen.findByText("config.json is gone");
});

test("the card is shown as a page, and as its source", async () => {
  server.use(
    answer(VERSION, makeVersionDetail()),
    http.get(`${VERSION}/card`, () => HttpResponse.text("---\nlicense: other\n---\n\n# sums, version 2")),
  );
  const { user } = renderApp(`${VERSION_PAGE}?tab=card`);
  await screen.findByRole("heading", { name: "sums, version 2" });
  await user.click(screen.getByRole("checkbox", { name: /As Markdown/ }));
  screen.getByText(/license: other/);
});

test("tags are set and taken off", async () => {
  const asked: string[] = [];
  server.use(
    answer(VERSION, makeVersionDetail({ tags: { stage: "tried" } })),
    http.put(`${VERSION}/tags/team`, async ({ request }) => {
      asked.push(JSON.stringify(await request.json()));
      return HttpResponse.json(makeVersion());
    }),
    http.delete(`${VERSION}/tags/stage`, () => {
      asked.push("taken off");
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderApp(VERSION_PAGE);
  await screen.findByText("stage = tried");
  await user.type(screen.getByLabelText("Tag"), "team");
  await user.type(screen.getByLabelText("Value"), "a");
  await user.click(screen.getByRole("button", { name: "Set the tag" }));
  await user.click(await screen.findByRole("button", { name: "Take off stage" }));
  await waitFor(() => {
    expect(asked).toEqual(['{"value":"a"}', "taken off"]);
  });
});

test("an export is asked for, proved and downloaded", async () => {
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
  await user.click(screen.getByRole("button", { name: "Export it" }));
  await screen.findByText("The same model");
  expect(sent).toEqual({ kind: "export", model: "sums:2", form: "merged", dtype: "float32" });
  screen.getByText(/Both wrote the same tokens for 1 question/);
  screen.getByText(/different tokens for 1 of 1 question/);
  const [link] = screen.getAllByRole("link", { name: /Download, 10/ });
  expect(link?.getAttribute("href")).toBe(`/api/tasks/${done.task_id}/download`);
  await user.selectOptions(screen.getByLabelText("Form"), "An adapter, as PEFT loads it");
  screen.getByText("tunix-rt models export sums:2 --as adapter --output sums-2-adapter");
});

test("a version is forgotten only when that is confirmed", async () => {
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
  await user.click(await screen.findByRole("button", { name: "Forget…" }));
  expect(isGone).toBe(false);
  await user.click(screen.getByRole("button", { name: "Forget the version" }));
  await waitFor(() => {
    expect(address()).toBe("/models/sums");
  });
  expect(isGone).toBe(true);
});
