import { expect, type Visit } from "../support/app";
import { expectAccessible } from "../support/axe";

/** Time for an engine to start, stop or write an answer, on a machine that has much else to do. */
export const ENGINE_LIMIT_MS = 240_000;

const TOO_LARGE = ["training.batch_size=512", "training.remat=none"];
/** So many steps that the browser is quick against them, so small that the rest of the run is soon over. */
const SETTINGS = ["training.num_steps=600", "training.batch_size=1", "eval.every_steps=300"];

/** What does not fit is made to fit with one click. */
export async function planAndFix({ page }: Visit): Promise<void> {
  await page.goto(`/launch?recipe=lora_gemma_2b&target=t4&hours=9&set=${asSearch(TOO_LARGE)}`);
  const verdict = page.getByRole("region", { name: "The plan" }).getByRole("status");
  await expect(verdict).toContainText("Does not fit");
  await expect(page.getByRole("img", { name: /^Memory of one device: .*over Limit 13.8 GiB/ })).toBeVisible();
  await expectAccessible(page);
  await page.reload();
  await page
    .getByRole("button", { name: /^Apply training.remat=block/ })
    .first()
    .click();
  await expect(verdict).toContainText("Fits");
  await expect(page.getByRole("row", { name: /training.gradient_accumulation_steps/ })).toBeVisible();
}

/** A run on the dataset that was built is started and cancelled while it trains. Returns its id. */
export async function launchAndCancel({ page }: Visit): Promise<string> {
  await page.goto(`/launch?name=watched&set=${asSearch(SETTINGS)}`);
  await page.getByLabel("Dataset").selectOption("marbles-v1");
  await page.reload();
  await expect(page.getByRole("region", { name: "The plan" }).getByRole("status")).toContainText("Fits");
  await page.getByRole("button", { name: "Run it" }).click();
  await expect(page).toHaveURL(/\/runs\/.*watched/);
  await expect(page.getByText(/training, step [1-9]/)).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.reload();
  await expect(page.getByRole("button", { name: "Resume" })).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  return new URL(page.url()).pathname.split("/").at(-1) ?? "";
}

/** It goes on where it was, and its curve moves; the page tells so by itself. */
export async function resumeAndWatch({ page }: Visit, runId: string): Promise<void> {
  await page.goto(`/runs/${runId}`);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("tab", { name: "Events" }).click();
  await expect(page.getByRole("row", { name: /engine resumed going on after step/ })).toBeVisible({
    timeout: ENGINE_LIMIT_MS,
  });
  await page.reload();
  await page.getByRole("tab", { name: "Curves" }).click();
  await expect(page.getByRole("figure", { name: "Loss" }).locator("canvas")).toBeVisible();
  const stepsDone = page.getByRole("progressbar", { name: "Steps done" });
  const before = Number(await stepsDone.getAttribute("value"));
  await expect.poll(async () => Number(await stepsDone.getAttribute("value"))).toBeGreaterThan(before);
  await expectAccessible(page);
}

/** The run ends well: its page says what to do next, and lists what it left. */
export async function seeItSucceed({ page }: Visit, runId: string): Promise<void> {
  await page.goto(`/runs/${runId}`);
  await expect(page.getByRole("heading", { name: "What next" })).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  await page.getByRole("tab", { name: "Files" }).click();
  await page.reload();
  await expect(page.getByRole("link", { name: "run_manifest.json" })).toBeVisible();
}

function asSearch(settings: string[]): string {
  return encodeURIComponent(JSON.stringify(settings));
}
