import { expect, type Visit } from "../support/app";
import { expectAccessible } from "../support/axe";
import { ENGINE_LIMIT_MS } from "./training";

/** Selects two runs and checks that only their differing settings are shown. */
export async function compareRuns({ page, app, request }: Visit): Promise<void> {
  // Held, because training it would add nothing to the comparison of settings.
  const data = { recipe: "smoke_tiny", name: "held", dataset: "marbles-v1", is_held: true };
  const submitted = await request.post(`${app.url}/api/tunix/runs`, { data });
  expect(submitted.status(), await submitted.text()).toBe(201);
  await page.goto("/compare");
  await page.getByRole("checkbox", { name: /Select .*watched/ }).check();
  await page.getByRole("checkbox", { name: /Select .*held/ }).check();
  await page.getByRole("button", { name: "Close list" }).click();
  await expect(page.getByRole("figure", { name: "Loss" })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("tab", { name: "Settings" }).click();
  await page.reload();
  await expect(page.getByRole("row", { name: /training\.num_steps 600 ≠ 2/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /training\.learning_rate/ })).toBeHidden();
  await expectAccessible(page);
  await page.getByRole("tab", { name: "Metrics & scores" }).click();
  await expect(page.getByRole("row", { name: /held/ }).first()).toBeVisible();
  await expectAccessible(page);
}

/** Creates a sweep, sees its validation error, then starts and cancels it. */
export async function sweepAndCancel({ page }: Visit): Promise<void> {
  await page.goto("/tuning");
  await expect(page.getByRole("heading", { name: "No sweeps yet" })).toBeVisible();
  await page.getByRole("link", { name: "New sweep" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("rates");
  await page.getByLabel("Recipe").selectOption("smoke_tiny");
  const setting = page.getByRole("group", { name: "Setting 1" });
  await setting.getByRole("combobox", { name: "Setting" }).fill("training.learning_rat");
  await page.getByRole("button", { name: "Start sweep" }).click();
  await expect(page.getByText(/training\.learning_rate/).first()).toBeVisible();
  await page.reload();
  await setting.getByRole("combobox", { name: "Setting" }).fill("training.learning_rate");
  await page.getByLabel("Objective").selectOption("loss");
  await page.getByRole("button", { name: "Start sweep" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "rates" })).toBeVisible();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel sweep" }).click();
  await expect(page.getByRole("button", { name: "Resume" })).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  await page.getByRole("tab", { name: "Search space" }).click();
  await expect(page.getByRole("row", { name: /training\.learning_rate loguniform/ })).toBeVisible();
}
