import { expect, type Visit } from "../support/app";
import { expectAccessible } from "../support/axe";
import { ENGINE_LIMIT_MS } from "./training";

/** The run's model gets a name, its lineage, and the alias that people ask for. */
export async function registerModel({ page }: Visit, runId: string): Promise<void> {
  await page.goto(`/models?registering=true&run=${runId}`);
  await page.getByLabel("Name of the model").fill("tiny");
  await page.getByRole("button", { name: "Register the run" }).click();
  await expect(page.getByRole("heading", { name: "tiny:1" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("group", { name: "Lineage" }).getByRole("link", { name: runId })).toBeVisible();
  await page.getByRole("tab", { name: "Files" }).click();
  await page.getByRole("button", { name: "Verify every byte" }).click();
  await expect(page.getByText(/every byte is as registered/)).toBeVisible();
  await page.goto("/models/tiny");
  await page.getByRole("button", { name: "Let it mean this version" }).click();
  await expect(page.getByRole("row", { name: /@champion tiny:1/ })).toBeVisible();
}

/** It answers, and the talk survives a reload; of two answers without names, a vote is kept. */
export async function chatAndVote({ page }: Visit): Promise<void> {
  // Against itself: two sets of weights would be one more engine, and tell no more of the vote.
  await page.goto("/chat?model=tiny%3A1&other=tiny%3A1&tokens=8");
  await page.getByLabel("Your question").fill("What is 2 + 3?");
  await page.getByRole("button", { name: "Ask" }).click();
  await expect(page.getByText(/^[1-8] token/)).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  await page.reload();
  await expect(page.getByText("What is 2 + 3?")).toBeVisible();
  await page.getByRole("checkbox", { name: "Compare two, blind" }).check();
  await page.getByLabel("Your question").fill("What is 3 + 4?");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("button", { name: "Both are bad" }).click({ timeout: ENGINE_LIMIT_MS });
  await expect(page.getByText("The vote is saved as a preference.", { exact: false })).toBeVisible();
  await expectAccessible(page);
}

/** What proves the run is packed, and verified by whoever looks. */
export async function packAndVerify({ page }: Visit, runId: string): Promise<void> {
  await page.goto(`/evidence?packing=true&run=${runId}`);
  await expect(page.getByLabel("Run", { exact: true })).toContainText(`${runId} (succeeded)`);
  await page.getByRole("button", { name: "Pack the run" }).click();
  const refusal = page.getByRole("alert");
  const verify = page.getByRole("button", { name: "Verify it now" });
  await expect(verify.or(refusal)).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  expect(await refusal.allInnerTexts(), "why it was not packed").toEqual([]);
  await page.reload();
  await page.getByRole("button", { name: "Verify it now" }).click();
  await expect(page.getByText("It holds")).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  await expectAccessible(page);
}
