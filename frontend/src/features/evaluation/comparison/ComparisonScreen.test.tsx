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

test("the comparison asks for two evaluations", async () => {
  server.use(answer(COMPARE, makeComparison()));
  const { user, address } = renderApp("/evaluations/compare");
  await screen.findByRole("heading", { name: "Choose two evaluations" });
  await screen.findAllByRole("option", { name: /^run-b on exam: 75.0 %/ });
  await user.selectOptions(screen.getByLabelText("Base"), BASE_ID);
  await user.selectOptions(screen.getByLabelText("Other"), OTHER_ID);
  await screen.findByRole("heading", { name: "run-b vs base-model" });
  expect(address()).toBe(BOARD);
  await user.click(screen.getByRole("button", { name: "Swap" }));
  await waitFor(() => {
    expect(address()).toBe(`/evaluations/compare?base=${OTHER_ID}&other=${BASE_ID}`);
  });
});

test("the difference has an interval and a significance", async () => {
  server.use(answer(COMPARE, makeComparison()));
  renderApp(BOARD);
  await screen.findByText("The other is significantly better (p = 0.022).");
  expect(screen.getAllByText("+22.5")).toHaveLength(2);
  screen.getByRole("img", { name: "Paired items: 40" });
  screen.getByText("2 flips");
});

test("flips are filtered by direction, section and text", async () => {
  server.use(answer(COMPARE, makeComparison()));
  const { user } = renderApp(BOARD);
  await screen.findByRole("heading", { name: "item-1" });
  await user.selectOptions(screen.getByLabelText("Direction"), "gained: wrong → correct");
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

test("completions are shown side by side or as a diff", async () => {
  server.use(answer(COMPARE, makeComparison({ flips: [makeFlip()] })));
  const { user } = renderApp(BOARD);
  expect((await screen.findByRole("region", { name: "Completion of base-model for item-1" })).textContent).toBe(
    "It is 18.",
  );
  expect(screen.getByRole("region", { name: "Completion of run-b for item-1" }).textContent).toBe("It is 17.");
  await user.click(screen.getByRole("button", { name: "Show diff" }));
  await screen.findByText(/18/, { selector: "del" });
});

test("flips are shown in pages", async () => {
  const flips = Array.from({ length: 25 }, (_, index) => makeFlip({ item_id: `item-${index}` }));
  server.use(answer(COMPARE, makeComparison({ flips })));
  const { user, address } = renderApp(BOARD);
  await user.click(await screen.findByRole("button", { name: "Show more" }));
  await screen.findByRole("heading", { name: "item-24" });
  expect(address()).toContain("shown=40");
});

test("identical verdicts have no flips", async () => {
  server.use(answer(COMPARE, makeComparison({ flips: [], overall: null, by_section: {} })));
  renderApp(BOARD);
  await screen.findByRole("heading", { name: "No flips" });
  screen.getByText("No item was scored in both evaluations, so they cannot be compared.");
});

test("different protocols are compared only on request", async () => {
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
  await screen.findByRole("heading", { name: "These evaluations are not comparable" });
  await user.click(screen.getByRole("button", { name: /compare shared/i }));
  await screen.findByText("decoding.temperature: 0.0 / 0.7");
  expect(address()).toContain("different=true");
});

test("a missing evaluation shows an error", async () => {
  server.use(refuse(COMPARE, 404, "There is no evaluation."));
  renderApp(BOARD);
  expect((await screen.findByRole("alert")).textContent).toContain("There is no evaluation.");
});

test("the comparison can be copied as a command", () => {
  const search = { base: "a", other: "b", different: true as const, section: "core" };
  expect(compareCommand(search)).toBe("tunix-rt compare a b --allow-different-protocols --section core");
  expect(comparePath(search)).toBe("/api/evaluations/compare?base=a&other=b&allow_different_protocols=true");
});
