import { gzipSync } from "node:zlib";
import { expect, type Visit } from "../support/app";

const FIRST_LOAD_LIMIT = 300_000;

/** The palette leads to a screen, a reload stays there, and the keyboard goes on from the skip link. */
export async function goByKeyboard({ page }: Visit): Promise<void> {
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
}

/** The scripts that the first visit loads are few. */
export async function loadLittle({ page }: Visit): Promise<void> {
  const scripts: Promise<Buffer>[] = [];
  page.on("response", (response) => {
    if (response.request().resourceType() === "script") scripts.push(response.body());
  });
  await page.goto("/");
  await expect(page.getByRole("list", { name: "What is here" })).toBeVisible();
  const sizes = (await Promise.all(scripts)).map((body) => gzipSync(body).length);
  expect(sizes.length).toBeGreaterThan(1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(FIRST_LOAD_LIMIT);
}
