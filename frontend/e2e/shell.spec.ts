import { gzipSync } from "node:zlib";
import { expect, test } from "./support/app";
import { expectAccessible } from "./support/axe";
import { takeScreenshots } from "./support/screenshots";
import { PLACES } from "../src/app/places";

test("every screen opens without an error, is accessible, and fits a phone", async ({ page }) => {
  test.slow();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  for (const { to } of PLACES) {
    await page.goto(to);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(page.getByText("Loading…")).toHaveCount(0);
    await expectAccessible(page);
    await page.setViewportSize({ width: 320, height: 700 });
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth), { message: `${to} on a phone` })
      .toBeLessThanOrEqual(320);
    await page.setViewportSize({ width: 1280, height: 800 });
    await takeScreenshots(page, to.slice(1) || "home");
  }
  expect(problems).toEqual([]);
});

test("dark colours have the contrast that light ones have", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto("/runs");
  await expect(page.getByRole("heading", { level: 1, name: "Runs" })).toBeVisible();
  await expectAccessible(page);
});

test("a reload stays where it was, and the keyboard goes on from the skip link", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("evid");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/evidence$/);
  await page.reload();
  await expect(page.getByRole("heading", { level: 1, name: "Evidence" })).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
});

test("the first load is at most 300 kB of gzipped JavaScript", async ({ page }) => {
  const scripts: Promise<Buffer>[] = [];
  page.on("response", (response) => {
    if (response.request().resourceType() === "script") scripts.push(response.body());
  });
  await page.goto("/");
  await expect(page.getByRole("list", { name: "What is here" })).toBeVisible();
  const sizes = (await Promise.all(scripts)).map((body) => gzipSync(body).length);
  expect(sizes.length).toBeGreaterThan(1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(300_000);
});
