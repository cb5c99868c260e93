import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { makeEvaluation, makePrediction, OTHER_ID, predictionList } from "../../../testing/evaluations";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import { adjacentItems } from "../item/ItemNavigation";

const PATH = `/api/evaluations/${OTHER_ID}`;
const PAGE = `/evaluations/${OTHER_ID}`;

test("scores have n and an interval, overall and by group", async () => {
  server.use(answer(PATH, makeEvaluation()));
  renderApp(PAGE);
  await screen.findByRole("heading", { name: "run-b on exam" });
  const overall = screen.getByRole("region", { name: "Overall scores" });
  expect(within(overall).getByRole("row", { name: /^Accuracy/ }).textContent).toContain("50.0 %");
  expect(within(overall).getByRole("row", { name: /pass@4/ }).textContent).toContain("80.0 %");
  const sections = screen.getAllByRole("region", { name: "By section" }).at(-1);
  expect(sections?.textContent).toContain("edge");
});

test("an unknown evaluation shows an error", async () => {
  server.use(refuse(PATH, 404, "There is no evaluation."));
  renderApp(PAGE);
  expect((await screen.findByRole("alert")).textContent).toContain("There is no evaluation.");
});

test("the protocol tab shows model and decoding", async () => {
  server.use(answer(PATH, makeEvaluation()));
  const { user, address } = renderApp(PAGE);
  await user.click(await screen.findByRole("tab", { name: "Protocol" }));
  await screen.findByRole("heading", { name: "Protocol" });
  screen.getByText("greedy");
  expect(screen.getByRole("link", { name: "run-b" }).getAttribute("href")).toBe("/runs/run-b");
  expect(address()).toBe(`${PAGE}?tab=protocol`);
});

test("items are filtered on the server and keep the filters", async () => {
  const requests: string[] = [];
  server.use(
    answer(PATH, makeEvaluation()),
    http.get(`${PATH}/items`, ({ request }) => {
      requests.push(new URL(request.url).search);
      return HttpResponse.json(predictionList([makePrediction(), makePrediction({ item_id: "item-2" })]));
    }),
  );
  const { user, address } = renderApp(`${PAGE}?tab=items`);
  await user.selectOptions(await screen.findByLabelText("Verdict"), "correct");
  await user.selectOptions(screen.getByLabelText("Section"), "edge");
  await user.selectOptions(screen.getByLabelText("Extracted by"), "answer-tag");
  await waitFor(() => {
    expect(requests.at(-1)).toContain("verdict=correct&section=edge&rule=answer-tag");
  });
  server.use(answer(`${PATH}/items/item-2`, { evaluation_id: OTHER_ID, item_id: "item-2", samples: [] }));
  (await screen.findByRole("row", { name: /item-2/ })).focus();
  await user.keyboard("{Enter}");
  await waitFor(() => {
    expect(address()).toBe(`${PAGE}/items/item-2?verdict=correct&section=edge&rule=answer-tag&at=1`);
  });
});

test("filters without matches can be cleared", async () => {
  server.use(answer(PATH, makeEvaluation()), answer(`${PATH}/items`, predictionList([])));
  const { user, address } = renderApp(`${PAGE}?tab=items&text=nothing`);
  await screen.findByRole("heading", { name: "No items match these filters" });
  await user.click(screen.getByRole("button", { name: "Clear filters" }));
  await waitFor(() => {
    expect(address()).toBe(`${PAGE}?tab=items`);
  });
});

test("rescoring opens the new evaluation", async () => {
  const again = "44444444-dddd-4ddd-8ddd-dddddddddddd";
  server.use(
    answer(PATH, makeEvaluation()),
    http.post(`${PATH}/rescore`, () => HttpResponse.json(makeEvaluation({ evaluation_id: again }), { status: 201 })),
    answer(`/api/evaluations/${again}`, makeEvaluation({ evaluation_id: again, rescored_from: OTHER_ID })),
  );
  const { user, address } = renderApp(PAGE);
  await user.click(await screen.findByRole("button", { name: "Rescore" }));
  await waitFor(() => {
    expect(address()).toBe(`/evaluations/${again}`);
  });
});

test("deleting an evaluation asks for confirmation", async () => {
  let isGone = false;
  server.use(
    answer(PATH, makeEvaluation()),
    http.delete(PATH, () => {
      isGone = true;
      return new HttpResponse(null, { status: 204 });
    }),
    answer("/api/evaluations", predictionList([])),
  );
  const { user, address } = renderApp(PAGE);
  await user.click(await screen.findByRole("button", { name: "Delete" }));
  expect(isGone).toBe(false);
  await user.click(screen.getByRole("button", { name: "Delete evaluation" }));
  await waitFor(() => {
    expect(address()).toBe("/evaluations");
  });
  expect(isGone).toBe(true);
});

test("an item shows its steps, answer and extraction rule", async () => {
  const item = { evaluation_id: OTHER_ID, item_id: "item-1", samples: [makePrediction()] };
  server.use(answer(`${PATH}/items/item-1`, item));
  renderApp(`${PAGE}/items/item-1`);
  await screen.findByRole("heading", { name: "Completion" });
  screen.getByText("arithmetic correct");
  screen.getByText("arithmetic wrong");
  screen.getByText(/answer-tag: the text between/);
  screen.getByText("18 equals 18");
  expect(screen.queryByRole("button", { name: "Next item" })).toBeNull();
});

test("a generation failure is shown instead of a completion", async () => {
  const generation = { item_id: "item-1", failure: { code: "prompt-too-long" as const, detail: "700 tokens of 512" } };
  const judgement = { verdict: "unscored" as const, is_well_formed: false, explanation: "there is no text" };
  const samples = [makePrediction(), makePrediction({ sample: 1, generation, judgement })];
  server.use(answer(`${PATH}/items/item-1`, { evaluation_id: OTHER_ID, item_id: "item-1", samples }));
  renderApp(`${PAGE}/items/item-1`);
  await screen.findByRole("heading", { name: "Sample 2" });
  screen.getByText(/700 tokens of 512/);
  screen.getByText("No reasoning steps.");
});

test("j and k move between items", async () => {
  const rows = ["item-1", "item-2"].map((item_id) => makePrediction({ item_id }));
  server.use(
    answer(`${PATH}/items`, predictionList(rows)),
    ...rows.map((row) =>
      answer(`${PATH}/items/${row.item_id}`, { evaluation_id: OTHER_ID, item_id: row.item_id, samples: [row] }),
    ),
  );
  const { user, address } = renderApp(`${PAGE}/items/item-1?at=0`);
  await waitFor(() => {
    expect(screen.getByRole("button", { name: "Next item" }).hasAttribute("disabled")).toBe(false);
  });
  await user.keyboard("j");
  await waitFor(() => {
    expect(address()).toBe(`${PAGE}/items/item-2?at=1`);
  });
  await user.click(await screen.findByRole("button", { name: "Previous item" }));
  await waitFor(() => {
    expect(address()).toBe(`${PAGE}/items/item-1?at=0`);
  });
});

test("other samples of the same item are skipped", () => {
  const rows = ["a", "b", "b", "b", "c"].map((item_id) => ({ item_id }));
  expect(adjacentItems(rows, 2, "b")).toEqual({ before: 0, after: 4 });
});
