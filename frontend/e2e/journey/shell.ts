import { gzipSync } from "node:zlib";
import { expect, type Visit } from "../support/app";

const FIRST_LOAD_LIMIT = 300_000;

/** Opens a screen from the palette, reloads it, and tabs to the skip link. */
export async function navigateByKeyboard({ page }: Visit): Promise<void> {
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("evid");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/evidence$/);
  await page.reload();
  await expect(page.getByRole("heading", { level: 1, name: "Evidence" })).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();
}

/** Checks the size of the scripts on first load. */
export async function checkFirstLoad({ page }: Visit): Promise<void> {
  const scripts: Promise<Buffer>[] = [];
  page.on("response", (response) => {
    if (response.request().resourceType() === "script") scripts.push(response.body());
  });
  await page.goto("/");
  await expect(page.getByRole("list", { name: "Inventory" })).toBeVisible();
  const sizes = (await Promise.all(scripts)).map((body) => gzipSync(body).length);
  expect(sizes.length).toBeGreaterThan(1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(FIRST_LOAD_LIMIT);
}
