import { expect, type Visit } from "../support/app";
import { expectAccessible } from "../support/axe";
import { ENGINE_LIMIT_MS } from "./training";

/** Two runs are chosen, and only what differs between their settings is shown. */
export async function compareRuns({ page, app, request }: Visit): Promise<void> {
  // Held: another training would tell no more about settings.
  const data = { recipe: "smoke_tiny", name: "held", dataset: "marbles-v1", is_held: true };
  const submitted = await request.post(`${app.url}/api/tunix/runs`, { data });
  expect(submitted.status(), await submitted.text()).toBe(201);
  await page.goto("/compare");
  await page.getByRole("checkbox", { name: /Select .*watched/ }).check();
  await page.getByRole("checkbox", { name: /Select .*held/ }).check();
  await page.getByRole("button", { name: "Close the list" }).click();
  await expect(page.getByRole("figure", { name: "Loss" })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("tab", { name: "Settings" }).click();
  await page.reload();
  await expect(page.getByRole("row", { name: /training\.num_steps 600 ≠ 2/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /training\.learning_rate/ })).toBeHidden();
  await expectAccessible(page);
  await page.getByRole("tab", { name: "Figures & scores" }).click();
  await expect(page.getByRole("row", { name: /held/ }).first()).toBeVisible();
  await expectAccessible(page);
}

/** A sweep is written, refused with the reason, started, and cancelled. */
export async function sweepAndCancel({ page }: Visit): Promise<void> {
  await page.goto("/tuning");
  await expect(page.getByRole("heading", { name: "No sweeps yet" })).toBeVisible();
  await page.getByRole("link", { name: "New sweep" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("rates");
  await page.getByLabel("Recipe").selectOption("smoke_tiny");
  const setting = page.getByRole("group", { name: "Setting 1" });
  await setting.getByRole("combobox", { name: "Setting" }).fill("training.learning_rat");
  await page.getByRole("button", { name: "Start the sweep" }).click();
  await expect(page.getByText(/training\.learning_rate/).first()).toBeVisible();
  await page.reload();
  await setting.getByRole("combobox", { name: "Setting" }).fill("training.learning_rate");
  await page.getByLabel("Best is the trial with").selectOption("loss");
  await page.getByRole("button", { name: "Start the sweep" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "rates" })).toBeVisible();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel the sweep" }).click();
  await expect(page.getByRole("button", { name: "Resume" })).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  await page.getByRole("tab", { name: "What is searched" }).click();
  await expect(page.getByRole("row", { name: /training\.learning_rate loguniform/ })).toBeVisible();
}
