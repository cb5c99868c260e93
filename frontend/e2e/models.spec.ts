import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "./support/app";
import { expectAccessible } from "./support/axe";
import { takeScreenshots } from "./support/screenshots";

const BUNDLE = fileURLToPath(new URL("../../submission_runs/demo_cpu", import.meta.url));
/** An engine starts three times in the longer test. */
const START_LIMIT_MS = 90_000;

test("a trained model is registered, promoted and talked to; votes are kept", async ({ page, app, request }) => {
  test.setTimeout(4 * START_LIMIT_MS);
  const recipe = { recipe: "smoke_tiny", name: "short", num_smoke_steps: 2 };
  const submitted = await request.post(`${app.url}/api/tunix/runs`, { data: recipe });
  const { run_id: runId } = (await submitted.json()) as { run_id: string };
  await page.goto("/models");
  await expect(page.getByRole("heading", { name: "No models yet" })).toBeVisible();
  await expectAccessible(page);
  await page.goto(`/runs/${runId}`);
  await expect(page.getByRole("heading", { name: "What next" })).toBeVisible({ timeout: START_LIMIT_MS });
  await page.goto(`/models?registering=true&run=${runId}`);
  await page.getByLabel("Name of the model").fill("tiny");
  await page.getByRole("button", { name: "Register the run" }).click();
  await expect(page.getByRole("heading", { name: "tiny:1" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("group", { name: "Lineage" }).getByRole("link", { name: runId })).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "version");
  await page.getByRole("tab", { name: "Files" }).click();
  await page.getByRole("button", { name: "Verify every byte" }).click();
  await expect(page.getByText(/every byte is as registered/)).toBeVisible();
  await page.getByRole("tab", { name: "Card" }).click();
  await expect(page.getByText(/# tiny, version 1/)).toBeVisible();
  await takeScreenshots(page, "card");

  await page.goto("/models/tiny");
  await page.getByRole("button", { name: "Let it mean this version" }).click();
  await expect(page.getByRole("row", { name: /@champion tiny:1/ })).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "model");

  await page.goto("/chat?model=tiny%3A1&tokens=8");
  await page.getByLabel("Your question").fill("What is 2 + 3?");
  await page.getByRole("button", { name: "Ask" }).click();
  await expect(page.getByText("8 tokens")).toBeVisible({ timeout: START_LIMIT_MS });
  await page.reload();
  await expect(page.getByText("What is 2 + 3?")).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "chat");

  await page.getByRole("checkbox", { name: "Compare two, blind" }).check();
  await page.getByLabel("Your question").fill("What is 3 + 4?");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("button", { name: "Both are bad" }).click({ timeout: START_LIMIT_MS });
  await expect(page.getByText("The vote is saved as a preference.", { exact: false })).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "blind");
});

test("a bundle says what each file proves, and is verified in the browser", async ({ page, app }) => {
  const { evidence_id } = JSON.parse(await readFile(join(BUNDLE, "evidence.json"), "utf8")) as { evidence_id: string };
  await cp(BUNDLE, join(app.home, "evidence", evidence_id), { recursive: true });
  await page.goto("/evidence");
  await page
    .getByRole("row", { name: /trained tiny-gemma/ })
    .getByRole("link")
    .click();
  await page.getByRole("button", { name: "Verify it now" }).click();
  await expect(page.getByText("It holds")).toBeVisible({ timeout: START_LIMIT_MS });
  await expectAccessible(page);
  await takeScreenshots(page, "evidence");
});
