import { screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import {
  BASE_ID,
  evaluationList,
  makeComparison,
  makeFlip,
  makeSummary,
  makeTrainedSummary,
  OTHER_ID,
} from "../../../testing/evaluations";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import { compareCommand, comparePath } from "../filters";

const COMPARE = "/api/evaluations/compare";
const BOARD = `/evaluations/compare?base=${BASE_ID}&other=${OTHER_ID}`;

beforeEach(() => {
  server.use(answer("/api/evaluations", evaluationList([makeTrainedSummary(), makeSummary()])));
});

test("without two evaluations the board tells what it is for, and lets them be chosen", async () => {
  server.use(answer(COMPARE, makeComparison()));
  const { user, address } = renderApp("/evaluations/compare");
  await screen.findByRole("heading", { name: "Choose two evaluations" });
  await screen.findAllByRole("option", { name: /^run-b on exam: 75.0 %/ });
  await user.selectOptions(screen.getByLabelText("Base"), BASE_ID);
  await user.selectOptions(screen.getByLabelText("Other"), OTHER_ID);
  await screen.findByRole("heading", { name: "run-b against base-model" });
  expect(address()).toBe(BOARD);
  await user.click(screen.getByRole("button", { name: "Swap" }));
  await waitFor(() => {
    expect(address()).toBe(`/evaluations/compare?base=${OTHER_ID}&other=${BASE_ID}`);
  });
});

test("the difference stands with its interval and whether chance explains it", async () => {
  server.use(answer(COMPARE, makeComparison()));
  renderApp(BOARD);
  await screen.findByText("The other is better, by more than chance explains (p = 0.022).");
  expect(screen.getAllByText("+22.5")).toHaveLength(2);
  screen.getByRole("img", { name: "Items of both: 40" });
  screen.getByText("2 flips");
});

test("flips are filtered by direction, section and text", async () => {
  server.use(answer(COMPARE, makeComparison()));
  const { user } = renderApp(BOARD);
  await screen.findByRole("heading", { name: "item-1" });
  await user.selectOptions(screen.getByLabelText("Direction"), "gained: wrong → right");
  await waitFor(() => {
    expect(screen.queryByRole("heading", { name: "item-1" })).toBeNull();
  });
  screen.getByText("1 of 2 flips");
  await user.selectOptions(screen.getByLabelText("Direction"), "all");
  await user.type(screen.getByLabelText("Search"), "half of");
  await screen.findByText("1 of 2 flips");
  await user.selectOptions(screen.getByLabelText("Section"), "core");
  await screen.findByText("0 of 2 flips");
});

test("both texts stand side by side, or as their difference", async () => {
  server.use(answer(COMPARE, makeComparison({ flips: [makeFlip()] })));
  const { user } = renderApp(BOARD);
  expect((await screen.findByRole("region", { name: "Text of base-model for item-1" })).textContent).toBe("It is 18.");
  expect(screen.getByRole("region", { name: "Text of run-b for item-1" }).textContent).toBe("It is 17.");
  await user.click(screen.getByRole("button", { name: "Show what differs" }));
  await screen.findByText(/18/, { selector: "del" });
});

test("many flips come in portions", async () => {
  const flips = Array.from({ length: 25 }, (_, index) => makeFlip({ item_id: `item-${index}` }));
  server.use(answer(COMPARE, makeComparison({ flips })));
  const { user, address } = renderApp(BOARD);
  await user.click(await screen.findByRole("button", { name: "Show more" }));
  await screen.findByRole("heading", { name: "item-24" });
  expect(address()).toContain("shown=40");
});

test("two that agree on every item have no flips", async () => {
  server.use(answer(COMPARE, makeComparison({ flips: [], overall: null, by_section: {} })));
  renderApp(BOARD);
  await screen.findByRole("heading", { name: "No item flipped" });
  screen.getByText("No item has a verdict in both: nothing can be said.");
});

test("different protocols are refused, and compared only when that is asked for", async () => {
  server.use(
    http.get(COMPARE, ({ request }) => {
      if (new URL(request.url).searchParams.get("allow_different_protocols") === "true") {
        const protocol_differences = ["decoding.temperature: 0.0 / 0.7"];
        return HttpResponse.json(makeComparison({ is_same_protocol: false, protocol_differences }));
      }
      const body = { detail: "Different protocols.", next_step: "Evaluate in the same way.", code: "conflict" };
      return HttpResponse.json(body, { status: 409 });
    }),
  );
  const { user, address } = renderApp(BOARD);
  await screen.findByRole("heading", { name: "These two are not comparable as they are" });
  await user.click(screen.getByRole("button", { name: /all the same/ }));
  await screen.findByText("decoding.temperature: 0.0 / 0.7");
  expect(address()).toContain("different=true");
});

test("an evaluation that is gone is said to be", async () => {
  server.use(refuse(COMPARE, 404, "There is no evaluation."));
  renderApp(BOARD);
  expect((await screen.findByRole("alert")).textContent).toContain("There is no evaluation.");
});

test("the comparison can be copied as a command", () => {
  const search = { base: "a", other: "b", different: true as const, section: "core" };
  expect(compareCommand(search)).toBe("tunix-rt compare a b --allow-different-protocols --section core");
  expect(comparePath(search)).toBe("/api/evaluations/compare?base=a&other=b&allow_different_protocols=true");
});
