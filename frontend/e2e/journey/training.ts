import { expect, type Visit } from "../support/app";
import { expectAccessible } from "../support/axe";

/** The time for an engine to start, stop or answer on a busy machine. */
export const ENGINE_LIMIT_MS = 240_000;

const TOO_LARGE = ["training.batch_size=512", "training.remat=none"];
/** Enough steps for the browser to keep up, small enough to finish soon. */
const SETTINGS = ["training.num_steps=600", "training.batch_size=1", "eval.every_steps=300"];

/** Fixes a plan that does not fit with one click. */
export async function planAndFix({ page }: Visit): Promise<void> {
  await page.goto(`/launch?recipe=lora_gemma_2b&target=t4&hours=9&set=${asSearch(TOO_LARGE)}`);
  const verdict = page.getByRole("region", { name: "Plan", exact: true }).getByRole("status");
  await expect(verdict).toContainText("Does not fit");
  await expect(page.getByRole("img", { name: /^Memory per device: .*over Limit 13.8 GiB/ })).toBeVisible();
  await expectAccessible(page);
  await page.reload();
  await page
    .getByRole("button", { name: /^Apply training.remat=block/ })
    .first()
    .click();
  await expect(verdict).toContainText("Fits");
  await expect(page.getByRole("row", { name: /training.gradient_accumulation_steps/ })).toBeVisible();
}

/** Starts a run on the built dataset, cancels it during training and returns its id. */
export async function launchAndCancel({ page }: Visit): Promise<string> {
  await page.goto(`/launch?name=watched&set=${asSearch(SETTINGS)}`);
  await page.getByLabel("Dataset").selectOption("marbles-v1");
  await page.reload();
  await expect(page.getByRole("region", { name: "Plan", exact: true }).getByRole("status")).toContainText("Fits");
  await page.getByRole("button", { name: "Launch run" }).click();
  await expect(page).toHaveURL(/\/runs\/.*watched/);
  await expect(page.getByText(/training, step [1-9]/)).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.reload();
  await expect(page.getByRole("button", { name: "Resume" })).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  return new URL(page.url()).pathname.split("/").at(-1) ?? "";
}

/** Resumes the run and checks that the page updates live. */
export async function resumeAndWatch({ page }: Visit, runId: string): Promise<void> {
  await page.goto(`/runs/${runId}`);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("tab", { name: "Events" }).click();
  await expect(page.getByRole("row", { name: /engine resumed/ })).toBeVisible({
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

/** Checks that the finished run shows next steps and files. */
export async function checkRunSucceeded({ page }: Visit, runId: string): Promise<void> {
  await page.goto(`/runs/${runId}`);
  await expect(page.getByRole("heading", { name: "Next steps" })).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  await page.getByRole("tab", { name: "Files" }).click();
  await page.reload();
  await expect(page.getByRole("link", { name: "run_manifest.json" })).toBeVisible();
}

function asSearch(settings: string[]): string {
  return encodeURIComponent(JSON.stringify(settings));
}
