import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import type { ChatRequest, NewPreference, PreferenceList, ServedModel } from "../../api/schema.gen";
import { answer, http, HttpResponse, refuse, server } from "../../testing/http";
import { renderApp } from "../../testing/render";

const CHUNKS = [
  { choices: [{ delta: { role: "assistant", reasoning_content: "2 + 3 = 5" } }] },
  { choices: [{ delta: { content: "It is 5" }, finish_reason: "length" }] },
  { choices: [], usage: { prompt_tokens: 3, completion_tokens: 7, total_tokens: 10 } },
];

function streamed(chunks: readonly object[]): Response {
  const text = [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
  return new HttpResponse(text, { headers: { "content-type": "text/event-stream" } });
}

function model(id: string, root = id): ServedModel {
  return { id, object: "model", created: 0, owned_by: "tunix-rt", root, is_loaded: false };
}

function served(...data: ServedModel[]): void {
  server.use(answer("/v1/models", { object: "list", data }));
}

function votes(list: Partial<PreferenceList>): void {
  const pagination = { limit: 20, offset: 0, total: list.data?.length ?? 0, total_is_exact: true };
  server.use(answer("/api/preferences", { data: [], tallies: [], pagination, ...list }));
}

beforeEach(() => {
  localStorage.clear();
});

test("an empty chat explains how to train a model", async () => {
  served();
  renderApp("/chat");
  await screen.findByRole("heading", { name: "No models yet" });
});

test("a failed model list shows an error", async () => {
  server.use(refuse("/v1/models"));
  renderApp("/chat");
  await screen.findByText("Could not load the models");
});

test("an answer shows its reasoning and keeps the conversation", async () => {
  served(model("sums:1"), model("sums@champion", "sums:1"));
  const sent: ChatRequest[] = [];
  server.use(
    http.post("/v1/chat/completions", async ({ request }) => {
      sent.push((await request.json()) as ChatRequest);
      return streamed(CHUNKS);
    }),
  );
  const { user } = renderApp("/chat?temperature=0.5&tokens=7");
  const question = await screen.findByLabelText("Message");
  await user.type(question, "What is 2 + 3?{Enter}");
  await screen.findByText("7 tokens");
  expect(screen.getByText("Reasoning").closest("details")?.textContent).toContain("2 + 3 = 5");
  screen.getByText("It is 5");
  screen.getByText("truncated at the limit");
  await user.type(question, "And 3 + 4?{Enter}");
  await waitFor(() => {
    expect(screen.getAllByText("7 tokens")).toHaveLength(2);
  });
  expect(sent[1]).toMatchObject({ model: "sums:1", temperature: 0.5, max_tokens: 7, stream: true });
  expect(sent[1]?.messages.map(({ content }) => content)).toEqual(["What is 2 + 3?", "It is 5", "And 3 + 4?"]);
  await user.click(screen.getByRole("button", { name: "New conversation" }));
  expect(screen.queryByText("It is 5")).toBeNull();
});

test("a conversation survives a reload", async () => {
  served(model("sums:1"));
  server.use(http.post("/v1/chat/completions", () => streamed(CHUNKS)));
  const { user, unmount } = renderApp("/chat");
  await user.type(await screen.findByLabelText("Message"), "What is 2 + 3?{Enter}");
  await screen.findByText("7 tokens");
  unmount();
  renderApp("/chat");
  await screen.findByText("It is 5");
});

test("chat errors are shown before and during an answer", async () => {
  served(model("sums:1"));
  const error = { detail: "It does not fit.", next_step: "Take a smaller one.", code: "conflict", message: "" };
  server.use(http.post("/v1/chat/completions", () => HttpResponse.json({ error }, { status: 409 })));
  const { user } = renderApp("/chat");
  const question = await screen.findByLabelText("Message");
  await user.type(question, "Hello{Enter}");
  expect((await screen.findByRole("alert")).textContent).toContain("Take a smaller one.");
  const broken = { ...error, detail: "Its process has died." };
  server.use(http.post("/v1/chat/completions", () => streamed([{ error: broken }])));
  await user.type(question, "Hello{Enter}");
  await screen.findByText("Its process has died.");
});

test("a blind vote reveals and stores the models", async () => {
  served(model("sums:1"), model("sums:2"));
  votes({});
  let sent: NewPreference | undefined;
  server.use(
    http.post("/v1/chat/completions", () => streamed(CHUNKS)),
    http.post("/api/preferences", async ({ request }) => {
      sent = (await request.json()) as NewPreference;
      const stored = { ...sent, id: "v-1", created_at: "2026-11-15T12:00:00Z" };
      const wins = { count: 1, n: 1, low: 0.2, high: 1 };
      votes({ data: [stored], tallies: [{ model: "sums:1", other: "sums:2", wins, num_ties: 0, num_neither: 0 }] });
      return HttpResponse.json(stored, { status: 201 });
    }),
  );
  const { user } = renderApp("/chat");
  await user.click(await screen.findByRole("checkbox", { name: "Blind comparison" }));
  await screen.findByText(/No votes yet/);
  await user.type(screen.getByLabelText("Message"), "What is 2 + 3?{Enter}");
  const group = await screen.findByRole("group", { name: "Which answer is better?" });
  screen.getByRole("heading", { name: "Answer A" });
  await user.click(within(group).getByRole("button", { name: /^A is better/ }));
  await screen.findByText(/Vote saved as a preference/);
  screen.getByRole("heading", { name: `Answer A: ${sent?.a.model ?? ""}` });
  screen.getByText("preferred");
  expect(new Set([sent?.a.model, sent?.b.model])).toEqual(new Set(["sums:1", "sums:2"]));
  expect(sent).toMatchObject({ choice: "a", a: { content: "It is 5", reasoning_content: "2 + 3 = 5" } });
  await screen.findByRole("row", { name: /^sums:1 sums:2 100.0 %/ });
  expect(screen.getByRole("link", { name: "Download pairs" }).getAttribute("href")).toContain("export.jsonl");
});

test("model and decoding settings are in the URL", async () => {
  served(model("sums:1"), model("sums:2"), model("sums@champion", "sums:2"));
  votes({});
  const { user, address } = renderApp("/chat?blind=true");
  await user.selectOptions(await screen.findByLabelText("Model A"), "sums:2");
  await user.selectOptions(screen.getByLabelText("Model B"), "sums@champion");
  await screen.findByText(/Both models have the same weights/);
  await user.clear(screen.getByLabelText("Max tokens"));
  await user.type(screen.getByLabelText("Max tokens"), "0");
  expect(address()).toContain("model=sums%3A2");
  expect(address()).toContain("other=sums%40champion");
  expect(address()).not.toContain("tokens=0");
});

test("a vote can be deleted", async () => {
  served(model("sums:1"), model("sums:2"));
  const side = { model: "sums:1", content: "5" };
  const messages = [{ role: "user" as const, content: "What is 2 + 3?" }];
  const vote = { id: "v-1", created_at: "2026-11-15T12:00:00Z", messages, a: side, b: side, choice: "tie" as const };
  votes({ data: [vote] });
  server.use(
    http.delete("/api/preferences/v-1", () => {
      votes({});
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderApp("/chat?blind=true");
  await screen.findByRole("row", { name: /What is 2 \+ 3\? both are good/ });
  await user.click(screen.getByRole("button", { name: "Delete" }));
  await screen.findByText(/No votes yet/);
});
