import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { makeEvaluation, OTHER_ID } from "../../../testing/evaluations";
import { REPORT, REPORT_ID, SUMMARY } from "../../../testing/faithfulness";
import { answer, refuse, server } from "../../../testing/http";
import { renderApp } from "../../../testing/render";

test("a report shows rates, controls and examples", async () => {
  server.use(answer(`/api/faithfulness/${REPORT_ID}`, REPORT));
  const { user } = renderApp(`/evaluations/faithfulness/${REPORT_ID}`);
  await screen.findByRole("heading", { name: "Faithfulness of run-b" });
  expect(screen.getByRole("row", { name: /^Follows the error/ }).textContent).toContain("70.0 %");
  expect(screen.getByRole("row", { name: /^Accepts wrong steps/ }).textContent).toContain("n = 22");
  expect(screen.getByRole("row", { name: /^One wrong result/ }).textContent).toContain("p < 0.001");
  screen.getByText("cut-off 6");
  await user.click(screen.getByText("Follows the error (item-1)"));
  screen.getByText("1 of 2: 18 → 17");
  screen.getByText("So it is 17.");
});

test("reports are listed, newest first", async () => {
  server.use(answer("/api/faithfulness", { data: [SUMMARY] }));
  renderApp("/evaluations/faithfulness");
  const link = await screen.findByRole("link", { name: "run-b" });
  expect(link.getAttribute("href")).toBe(`/evaluations/faithfulness/${REPORT_ID}`);
});

test("an unmeasured model shows the command to run", async () => {
  server.use(
    answer(`/api/evaluations/${OTHER_ID}`, makeEvaluation()),
    answer(`/api/evaluations/${OTHER_ID}/faithfulness`, { data: [] }),
  );
  renderApp(`/evaluations/${OTHER_ID}?tab=faithfulness`);
  await screen.findByRole("heading", { name: "Not measured yet" });
  screen.getByText("tunix-rt eval faithfulness run-b --eval-set exam");
});

test("failed reports show an error", async () => {
  server.use(refuse("/api/faithfulness"), refuse(`/api/faithfulness/${REPORT_ID}`, 404, "There is no report."));
  const listed = renderApp("/evaluations/faithfulness");
  await screen.findByText("The database does not answer.");
  listed.unmount();
  renderApp(`/evaluations/faithfulness/${REPORT_ID}`);
  await screen.findByText("There is no report.");
});
