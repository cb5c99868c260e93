import { screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import type { Leaderboard } from "../../../api/schema.gen";
import { BASE_ID, makeSummary, makeTrainedSummary, OTHER_ID } from "../../../testing/evaluations";
import { REPORT_ID, SUMMARY } from "../../../testing/faithfulness";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import { boardCommand, boardPath } from "./filters";

const PATH = "/api/tunix/leaderboard";
const BOARD: Leaderboard = {
  groups: [
    {
      fingerprint: "f".repeat(64),
      evalset: "exam",
      evalset_hash: "e".repeat(64),
      entries: [
        {
          rank: 1,
          is_tied: true,
          is_base: false,
          evaluation: makeTrainedSummary({ num_unscored: 2 }),
          base_evaluation_id: BASE_ID,
          difference_to_base: 0.25,
        },
        { rank: 1, is_tied: true, is_base: true, evaluation: makeSummary() },
        { is_tied: false, is_base: true, evaluation: makeSummary({ evaluation_id: "3", primary_score: null }) },
      ],
    },
    { fingerprint: "a".repeat(64), evalset: "other", evalset_hash: "b".repeat(64), entries: [] },
  ],
  num_evaluations: 3,
  num_superseded: 1,
};

beforeEach(() => {
  server.use(answer("/api/faithfulness", { data: [] }));
});

test("measured faithfulness links to its report", async () => {
  const entry = { rank: 1, is_tied: false, is_base: false, evaluation: makeSummary({ model: SUMMARY.setup.model }) };
  const groups = [{ fingerprint: "f".repeat(64), evalset: "exam", evalset_hash: "e".repeat(64), entries: [entry] }];
  server.use(
    answer(PATH, { groups, num_evaluations: 1, num_superseded: 0 }),
    answer("/api/faithfulness", { data: [SUMMARY] }),
  );
  renderApp("/leaderboard");
  const link = await screen.findByRole("link", { name: /% \(n = / });
  expect(link.getAttribute("href")).toBe(`/evaluations/faithfulness/${REPORT_ID}`);
});

test("models are ranked with intervals, ties and base models", async () => {
  server.use(answer(PATH, BOARD));
  renderApp("/leaderboard");
  const trained = await screen.findByRole("row", { name: /run-b/ });
  expect(trained.textContent).toContain("1=");
  expect(trained.textContent).toContain("95 % CI 60.0 % to 86.0 %, n = 40");
  expect(trained.textContent).toContain("2 unscored");
  const gain = screen.getByRole("link", { name: "+25.0 points" });
  expect(gain.getAttribute("href")).toBe(`/evaluations/compare?base=${BASE_ID}&other=${OTHER_ID}`);
  expect(screen.getAllByText("base")).toHaveLength(2);
  screen.getByText("3 evaluations; 2 protocols (scores not comparable); 1 older evaluation hidden.");
});

test("filters are applied on the server", async () => {
  const requests: string[] = [];
  server.use(
    http.get(PATH, ({ request }) => {
      requests.push(new URL(request.url).search);
      return HttpResponse.json({ groups: [], num_evaluations: 0, num_superseded: 0 });
    }),
  );
  const { user, address } = renderApp("/leaderboard?eval_set=exam");
  await screen.findByRole("heading", { name: "No evaluations match these filters" });
  await user.click(screen.getByRole("checkbox", { name: /older evaluations/ }));
  await waitFor(() => {
    expect(requests.at(-1)).toBe("?eval_set=exam&shows_all=true");
  });
  await user.type(screen.getByLabelText("Model"), "b");
  await user.click(screen.getByRole("button", { name: "Clear filters" }));
  await waitFor(() => {
    expect(address()).toBe("/leaderboard");
  });
  await screen.findByRole("heading", { name: "No models to rank yet" });
});

test("an error can be retried", async () => {
  server.use(refuse(PATH));
  const { user } = renderApp("/leaderboard");
  const again = await screen.findByRole("button", { name: "Try again" });
  server.use(answer(PATH, BOARD));
  await user.click(again);
  await screen.findByRole("row", { name: /run-b/ });
});

test("the filtered leaderboard can be copied", () => {
  const filters = { eval_set: "exam", date_from: "2026-11-01", all: true as const };
  expect(boardCommand(filters)).toBe("tunix-rt eval leaderboard --eval-set exam --from 2026-11-01 --all");
  expect(boardPath(filters)).toBe("/api/tunix/leaderboard?eval_set=exam&date_from=2026-11-01&shows_all=true");
  expect(boardPath({})).toBe("/api/tunix/leaderboard");
});
