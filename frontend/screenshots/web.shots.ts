import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, type Page } from "@playwright/test";
import { test } from "../e2e/support/app";
import { fillHome } from "./home";
import { screens } from "./screens";

const FOLDER = fileURLToPath(new URL("../../docs/images/web", import.meta.url));
const MAX_BYTES = 60_000;
const QUALITIES = [60, 45, 30];
const LIMIT_MS = 3_600_000;
const ANSWER_LIMIT_MS = 300_000;

// Uses a running server and its home instead of starting an empty one.
const running = process.env.TUNIX_RT_URL;
if (running !== undefined) test.use({ baseURL: running });

test.setTimeout(LIMIT_MS);

test("every screen, light and dark", async ({ page, request }) => {
  const subjects = await fillHome(request);
  await mkdir(FOLDER, { recursive: true });
  for (const [name, address] of Object.entries(screens(subjects))) {
    await page.goto(address);
    await takeScreenshots(page, name, subjects.path);
  }
  await page.goto("/chat?model=sums%3A1");
  await page.getByLabel("Message").fill("What is 50 + 54?");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByText(/\d+ tokens/).last()).toBeVisible({ timeout: ANSWER_LIMIT_MS });
  await takeScreenshots(page, "chat", subjects.path);
});

async function takeScreenshots(page: Page, name: string, path: string): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  // Loading messages end with an ellipsis.
  await expect(page.getByRole("status").filter({ hasText: /…$/ })).toHaveCount(0, { timeout: ANSWER_LIMIT_MS });
  await page.waitForLoadState("networkidle");
  for (const shown of await page.getByText(path, { exact: true }).all()) {
    await shown.evaluate((element) => {
      element.textContent = "~/.tunix-rt";
    });
  }
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await writeFile(join(FOLDER, `${name}-${colorScheme}.webp`), await screenshot(page));
  }
}

/** The page as WebP in the best quality within the size limit. */
async function screenshot(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  let taken = Buffer.alloc(0);
  for (const quality of QUALITIES) {
    const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality });
    taken = Buffer.from(data, "base64");
    if (taken.length <= MAX_BYTES) break;
  }
  await session.detach();
  expect(taken.length).toBeLessThanOrEqual(MAX_BYTES);
  return taken;
}
