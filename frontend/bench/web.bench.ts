import { expect, test } from "../e2e/support/app";
import { scrollFrames } from "./frames";
import { makeRun } from "../src/testing/runs";

const NUM_ROWS = 100_000;

test("first load", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
  const interactiveMs = await page.evaluate(() => performance.now());
  console.log(`interactive after ${interactiveMs.toFixed(0)} ms (bar: 1,500)`);
});

test("table of 100,000 rows", async ({ page }) => {
  await page.route("**/api/tunix/runs?*", (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [limit, offset] = [Number(query.get("limit")), Number(query.get("offset"))];
    const data = Array.from({ length: limit }, (_, index) => makeRun({ run_id: `run-${offset + index}` }));
    return route.fulfill({ json: { data, pagination: { limit, offset, total: NUM_ROWS, total_is_exact: true } } });
  });
  await page.goto("/runs");
  const grid = page.getByRole("grid", { name: "Runs" });
  await expect(grid.getByRole("row", { name: /run-3/ }).first()).toBeVisible();
  const frames = await scrollFrames(grid.locator(".."));
  console.log(
    `${frames.count} frames: median ${frames.median.toFixed(1)} ms, longest ${frames.longest.toFixed(1)} ms (bar: 100)`,
  );
  await expect(grid.getByRole("row", { name: new RegExp(`run-${NUM_ROWS - 1}`) })).toBeVisible();
});
