import { expect, test } from "./support/app";
import { expectAccessible } from "./support/axe";
import { takeScreenshots } from "./support/screenshots";

/** An engine may just be starting when its sweep is cancelled. */
const STOP_LIMIT_MS = 90_000;

test("two runs are chosen and only the setting that differs is shown, also after a reload", async ({
  page,
  app,
  request,
}) => {
  for (const rate of ["0.001", "0.002"]) {
    // Held: this test is about settings, and what they would train belongs to others.
    const overrides = [`training.learning_rate=${rate}`];
    const data = { recipe: "smoke_tiny", name: `rate-${rate.slice(2)}`, is_held: true, overrides };
    const submitted = await request.post(`${app.url}/api/tunix/runs`, { data });
    expect(submitted.status(), await submitted.text()).toBe(201);
  }
  await page.goto("/compare");
  await page.getByRole("checkbox", { name: /Select .*rate-001/ }).check();
  await page.getByRole("checkbox", { name: /Select .*rate-002/ }).check();
  await page.getByRole("button", { name: "Close the list" }).click();
  await expect(page.getByRole("figure", { name: "Loss" })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("tab", { name: "Settings" }).click();
  await page.reload();
  await expect(page.getByRole("row", { name: "training.learning_rate 0.001 ≠ 0.002" })).toBeVisible();
  await expect(page.getByRole("row", { name: /training\.num_steps/ })).toBeHidden();
  await expectAccessible(page);
  await takeScreenshots(page, "compare-settings");
  await page.getByRole("tab", { name: "Figures & scores" }).click();
  await expect(page.getByRole("heading", { name: "Not evaluated" })).toBeVisible();
  await expectAccessible(page);
});

test("a sweep is written, refused with the reason, started, and cancelled", async ({ page }) => {
  test.setTimeout(2 * STOP_LIMIT_MS);
  await page.goto("/tuning");
  await expect(page.getByRole("heading", { name: "No sweeps yet" })).toBeVisible();
  await page.getByRole("link", { name: "New sweep" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("rates");
  await page.getByLabel("Recipe").selectOption("smoke_tiny");
  const setting = page.getByRole("group", { name: "Setting 1" });
  await setting.getByRole("combobox", { name: "Setting" }).fill("training.learning_rat");
  await page.getByRole("button", { name: "Start the sweep" }).click();
  await expect(page.getByText(/training\.learning_rate/).first()).toBeVisible();
  await expectAccessible(page);
  await page.reload();
  await setting.getByRole("combobox", { name: "Setting" }).fill("training.learning_rate");
  await page.getByLabel("Best is the trial with").selectOption("loss");
  await takeScreenshots(page, "tuning-new");
  await page.getByRole("button", { name: "Start the sweep" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "rates" })).toBeVisible();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel the sweep" }).click();
  await expect(page.getByRole("button", { name: "Resume" })).toBeVisible({ timeout: STOP_LIMIT_MS });
  await expectAccessible(page);
  await page.getByRole("tab", { name: "What is searched" }).click();
  await expect(page.getByRole("row", { name: /training\.learning_rate loguniform/ })).toBeVisible();
  await expectAccessible(page);
});
