import { expect, test } from "./support/app";
import { expectAccessible } from "./support/axe";
import { takeScreenshots } from "./support/screenshots";

const TOO_LARGE = encodeURIComponent(JSON.stringify(["training.batch_size=512", "training.remat=none"]));
// Long enough that it is still at work when it is cancelled, on any machine.
const LONG = encodeURIComponent(JSON.stringify(["training.num_steps=100000", "eval.every_steps=100000"]));
/** An engine starts twice in the longer test. */
const START_LIMIT_MS = 90_000;

test("what does not fit is made to fit with one click", async ({ page }) => {
  await page.goto(`/launch?recipe=lora_gemma_2b&target=t4&hours=9&set=${TOO_LARGE}`);
  await expect(page.getByText(/^Does not fit: /)).toBeVisible();
  await expect(page.getByRole("img", { name: /^Memory of one device: .*over Limit 13.8 GiB/ })).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "launch-does-not-fit");
  await page
    .getByRole("button", { name: /^Apply training.remat=block/ })
    .first()
    .click();
  await expect(page.getByText(/^Fits: /)).toBeVisible();
  await expect(page.getByRole("row", { name: /training.gradient_accumulation_steps/ })).toBeVisible();
});

test("a run is started, watched, cancelled and resumed, over a reload", async ({ page }) => {
  test.setTimeout(4 * START_LIMIT_MS);
  await page.goto(`/launch?name=watched&set=${LONG}`);
  await page.getByRole("button", { name: "Run it" }).click();
  await expect(page).toHaveURL(/\/runs\/.*watched/);
  const standing = page.getByRole("region", { name: "Where it stands" });
  await expect(standing.getByText(/training, step [1-9]\d/)).toBeVisible({ timeout: START_LIMIT_MS });
  await page.reload();
  await expect(page.getByRole("figure", { name: "Loss" }).locator("canvas")).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "run");
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByRole("button", { name: "Resume" }).click({ timeout: START_LIMIT_MS });
  await page.getByRole("tab", { name: "Events" }).click();
  // Told by the engine: the page follows the run on without a reload.
  await expect(page.getByRole("row", { name: /engine resumed going on after step/ })).toBeVisible({
    timeout: START_LIMIT_MS,
  });
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByRole("tab", { name: "Files" }).click();
  await expect(page.getByRole("link", { name: "run_manifest.json" })).toBeVisible({ timeout: START_LIMIT_MS });
  await expectAccessible(page);
});
