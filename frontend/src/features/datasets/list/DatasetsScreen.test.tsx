import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { datasetList, makeSummary } from "../../../testing/datasets";
import { answer, http, HttpResponse, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";

test("datasets are listed, including damaged ones", async () => {
  server.use(answer("/api/datasets", datasetList([makeSummary()], ["broken-v1"])));
  renderApp("/datasets");
  const row = await screen.findByRole("row", { name: /sums-v1/ });
  within(row).getByText("train 9, validation 1");
  within(screen.getByRole("row", { name: /broken-v1/ })).getByText("damaged");
  screen.getByText(/2 datasets/);
});

test("two selected datasets can be compared", async () => {
  server.use(answer("/api/datasets", datasetList([makeSummary(), makeSummary({ dataset_key: "sums-v2" })])));
  const { user, address } = renderApp("/datasets?chosen=sums-v2");
  const row = await screen.findByRole("row", { name: /sums-v1/ });
  row.focus();
  await user.keyboard(" ");
  const link = await screen.findByRole("link", { name: "Compare selected" });
  expect(link.getAttribute("href")).toBe("/datasets/sums-v1/diff?other=sums-v2");
  await user.keyboard(" ");
  await waitFor(() => {
    expect(decodeURIComponent(address())).not.toContain("sums-v1");
  });
});

test("datasets are searched by key", async () => {
  server.use(
    http.get("/api/datasets", ({ request }) => {
      const found = new URL(request.url).searchParams.get("text") === "zzz" ? [] : [makeSummary()];
      return HttpResponse.json(datasetList(found));
    }),
  );
  const { user, address } = renderApp("/datasets");
  await screen.findByRole("row", { name: /sums-v1/ });
  await user.type(screen.getByRole("searchbox", { name: "Search" }), "zzz");
  await screen.findByText("No dataset key contains “zzz”.");
  expect(address()).toBe("/datasets?text=zzz");
});

test("an empty list explains how to build a dataset", async () => {
  server.use(answer("/api/datasets", datasetList([])));
  renderApp("/datasets");
  await screen.findByRole("heading", { name: "No datasets yet" });
  screen.getByText("tunix-rt data ingest dev-reasoning-v2");
});

test("a failed list shows the next step", async () => {
  server.use(refuse("/api/datasets"));
  renderApp("/datasets");
  expect((await screen.findByRole("alert")).textContent).toContain("Look at the server's log.");
});
