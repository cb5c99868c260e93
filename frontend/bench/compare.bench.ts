import type { Page } from "@playwright/test";
import { expect, test } from "../e2e/support/app";
import { makeRunDetail, stepLine } from "../src/testing/plans";
import { report } from "./measure";

const [NUM_RUNS, NUM_POINTS] = [100, 5_000];
const BAR_MS = 500;

test("100 runs of 5,000 points overlaid", async ({ page }) => {
  test.setTimeout(300_000);
  await page.route(/\/api\/tunix\/runs\/run-\d+$/, (route) => {
    const run_id = new URL(route.request().url()).pathname.split("/").at(-1) ?? "";
    return route.fulfill({ json: makeRunDetail({ run_id }) });
  });
  await page.route(/\/api\/tunix\/runs\/run-\d+\/metrics$/, (route) => {
    const number = Number(/run-(\d+)/.exec(route.request().url())?.[1]);
    const lines = Array.from({ length: NUM_POINTS }, (_, step) => stepLine(step + 1, lossAt(step, number)));
    return route.fulfill({ json: lines });
  });
  const runs = Array.from({ length: NUM_RUNS }, (_, index) => `run-${index}`);
  await page.goto(`/compare?run=${encodeURIComponent(JSON.stringify(runs))}`);
  await expect(page.getByText(/Loading metrics/)).toBeHidden({ timeout: 240_000 });
  await expect(page.locator("canvas")).toBeVisible();
  for (const curve of ["grad_norm", "loss"]) {
    const value = await drawMs(page, "Metric", curve);
    report({ what: `100 runs of 5,000 points drawn, ${curve} over steps`, value, bar: BAR_MS, unit: "ms" });
  }
  const value = await drawMs(page, "X axis", "minutes");
  report({ what: "100 runs of 5,000 points drawn, loss over minutes", value, bar: BAR_MS, unit: "ms" });
});

/** The time from a selection to the third frame after it applied, when the curves are drawn. */
function drawMs(page: Page, label: string, value: string): Promise<number> {
  return page.getByLabel(label, { exact: true }).evaluate(async (element, chosen) => {
    const select = element as HTMLSelectElement;
    const before = performance.now();
    select.value = chosen;
    select.dispatchEvent(new Event("change", { bubbles: true }));
    while (select.value !== chosen || !location.search.includes(chosen === "loss" ? "run=" : chosen)) {
      await new Promise(requestAnimationFrame);
    }
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
    return performance.now() - before;
  }, value);
}

function lossAt(step: number, run: number): number {
  return 3 * Math.exp(-step / 1_500) + 0.5 + run / 200 + Math.sin(step * 12.9898 + run * 78.233) / 20;
}
