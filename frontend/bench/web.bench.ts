import { gzipSync } from "node:zlib";
import { expect, test } from "../e2e/support/app";
import { makeRunDetail } from "../src/testing/plans";
import { makeRun } from "../src/testing/runs";
import { longestFrame } from "./frames";
import { median, report } from "./measure";

const [NUM_ROWS, NUM_LOADS, FRAME_BAR_MS] = [100_000, 5, 100];

test("first load", async ({ browser, app }) => {
  const [seen, sizes]: [number[], number[]] = [[], []];
  for (let load = 0; load < NUM_LOADS; load += 1) {
    // A new context has an empty cache.
    const context = await browser.newContext({ baseURL: app.url });
    const page = await context.newPage();
    const scripts: Promise<Buffer>[] = [];
    page.on("response", (response) => {
      if (response.request().resourceType() === "script") scripts.push(response.body());
    });
    await page.goto("/", { waitUntil: "commit" });
    // Polled in the page between frames: once the link is rendered it can be used.
    const interactive = await page.waitForFunction(
      () => document.querySelector("[aria-label='Inventory'] a") !== null && performance.now(),
    );
    seen.push((await interactive.jsonValue()) || Number.NaN);
    const bodies = await Promise.all(scripts);
    sizes.push(bodies.reduce((sum, body) => sum + gzipSync(body).length, 0) / 1_000);
    await context.close();
  }
  report({ what: "JavaScript of the first load, gzipped", value: Math.max(...sizes), bar: 300, unit: "kB" });
  report({ what: `interactive, median of ${NUM_LOADS} first loads`, value: median(seen), bar: 1_500, unit: "ms" });
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
  const value = await longestFrame(grid.locator(".."));
  report({ what: "longest frame, 100,000 rows scrolled", value, bar: FRAME_BAR_MS, unit: "ms" });
  await expect(grid.getByRole("row", { name: new RegExp(`run-${NUM_ROWS - 1}`) })).toBeVisible();
});

test("log of 100,000 lines", async ({ page }) => {
  const lines = Array.from(
    { length: NUM_ROWS },
    (_, line) => `step ${line + 1}: loss ${(3 / (line + 1)).toFixed(4)}\n`,
  );
  const log = { chunk: lines.join(""), is_partial: false };
  const messages = [`event: log\nid: 1\ndata: ${JSON.stringify(log)}\n\n`, `event: status\nid: 2\ndata: {}\n\n`];
  await page.route(/\/api\/tunix\/runs\/run-1$/, (route) =>
    route.fulfill({ json: makeRunDetail({ run_id: "run-1", status: "succeeded" }) }),
  );
  await page.route(/\/runs\/run-1\/stream/, (route) =>
    route.fulfill({ contentType: "text/event-stream", body: messages.join("") }),
  );
  await page.goto("/runs/run-1?tab=log");
  const view = page.getByRole("log");
  await expect(view.getByText("step 1: loss 3.0000")).toBeVisible();
  const value = await longestFrame(view);
  report({ what: "longest frame, 100,000 lines of log scrolled", value, bar: FRAME_BAR_MS, unit: "ms" });
  await expect(view.getByText(`step ${NUM_ROWS}: loss 0.0000`)).toBeVisible();
});
