import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { makeManifest, makeXray } from "../../../testing/datasets";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";
import { visibleText } from "./parts";
import { xrayCommand } from "./search";

let requests: string[] = [];

beforeEach(() => {
  requests = [];
  server.use(
    answer("/api/datasets/sums-v1", makeManifest()),
    http.get("/api/datasets/sums-v1/xray", ({ request }) => {
      requests.push(new URL(request.url).search);
      return HttpResponse.json(makeXray());
    }),
  );
});

test("tokens show their state and examples their boundaries", async () => {
  renderApp("/datasets/sums-v1/xray?packed=true");
  const first = await screen.findByRole("region", { name: "Example 0" });
  within(first).getByText(/question, masked:/);
  within(first).getByText(/answer, trained:/);
  screen.getByRole("region", { name: "Example 1" });
  screen.getByText("2 tokens of padding");
  screen.getByText("not ready for training");
  screen.getByText("66.7 % of 6");
});

test("findings link to examples and keys move between them", async () => {
  const { user, address } = renderApp("/datasets/sums-v1/xray");
  await user.click(await screen.findByRole("button", { name: "Example 1" }));
  await waitFor(() => {
    expect(address()).toContain("index=1");
  });
  await user.keyboard("k");
  await waitFor(() => {
    expect(address()).not.toContain("index");
  });
  await user.keyboard("j");
  await waitFor(() => {
    expect(requests.at(-1)).toContain("index=1");
  });
});

test("X-ray options are in the URL and the request", async () => {
  const { user } = renderApp("/datasets/sums-v1/xray");
  await screen.findByRole("region", { name: "Example 0" });
  await user.type(screen.getByLabelText("Tokens per row"), "64{Enter}");
  await user.selectOptions(screen.getByLabelText("Markup"), "think");
  await user.selectOptions(screen.getByLabelText("Loss on"), "all");
  await user.selectOptions(screen.getByLabelText("Split"), "validation");
  await user.click(screen.getByLabelText("Packed: several examples per row"));
  await user.type(screen.getByLabelText("Model"), "tiny-llama{Enter}");
  await waitFor(() => {
    const search = new URLSearchParams(requests.at(-1));
    expect(Object.fromEntries(search)).toEqual({
      index: "0",
      row_length: "64",
      markup: "think",
      loss_on: "all",
      split: "validation",
      packed: "true",
      model: "tiny-llama",
    });
  });
});

test("an unknown model shows an error", async () => {
  server.use(refuse("/api/datasets/sums-v1/xray", 404, "There is no model 'x'."));
  renderApp("/datasets/sums-v1/xray?model=x");
  expect((await screen.findByRole("alert")).textContent).toContain("There is no model 'x'.");
});

test("the X-ray can be copied as a command", () => {
  expect(xrayCommand("sums-v1", { model: "tiny", row_length: 64, packed: true })).toBe(
    "tunix-rt data xray sums-v1 --index 0 --model tiny --row-length 64 --packed",
  );
  expect([visibleText(""), visibleText("a\n\t")]).toEqual(["·", "a⏎\n⇥"]);
});
