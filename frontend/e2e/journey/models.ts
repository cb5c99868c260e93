import { expect, type Visit } from "../support/app";
import { expectAccessible } from "../support/axe";
import { ENGINE_LIMIT_MS } from "./training";

/** Registers the run's model and assigns an alias. */
export async function registerModel({ page }: Visit, runId: string): Promise<void> {
  await page.goto(`/models?registering=true&run=${runId}`);
  await page.getByLabel("Model name").fill("tiny");
  await page.getByRole("button", { name: "Register run" }).click();
  await expect(page.getByRole("heading", { name: "tiny:1" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("group", { name: "Lineage" }).getByRole("link", { name: runId })).toBeVisible();
  await page.getByRole("tab", { name: "Files" }).click();
  await page.getByRole("button", { name: "Verify files" }).click();
  await expect(page.getByText(/all bytes match/)).toBeVisible();
  await page.goto("/models/tiny");
  await page.getByRole("button", { name: "Set alias" }).click();
  await expect(page.getByRole("row", { name: /@champion tiny:1/ })).toBeVisible();
}

/** Chats across a reload, then votes on a blind comparison. */
export async function chatAndVote({ page }: Visit): Promise<void> {
  // The model is compared with itself: a second one would need another engine and add nothing.
  await page.goto("/chat?model=tiny%3A1&other=tiny%3A1&tokens=8");
  await page.getByLabel("Message").fill("What is 2 + 3?");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByText(/^[1-8] token/)).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  await page.reload();
  await expect(page.getByText("What is 2 + 3?")).toBeVisible();
  await page.getByRole("checkbox", { name: "Blind comparison" }).check();
  await page.getByLabel("Message").fill("What is 3 + 4?");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Both are bad" }).click({ timeout: ENGINE_LIMIT_MS });
  await expect(page.getByText("Vote saved as a preference.", { exact: false })).toBeVisible();
  await expectAccessible(page);
}

/** Packs the evidence of the run and verifies it. */
export async function packAndVerify({ page }: Visit, runId: string): Promise<void> {
  await page.goto(`/evidence?packing=true&run=${runId}`);
  await expect(page.getByLabel("Run", { exact: true })).toContainText(`${runId} (succeeded)`);
  await page.getByRole("button", { name: "Pack run", exact: true }).click();
  const refusal = page.getByRole("alert");
  const verify = page.getByRole("button", { name: "Verify", exact: true });
  await expect(verify.or(refusal)).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  expect(await refusal.allInnerTexts(), "why it was not packed").toEqual([]);
  await page.reload();
  await page.getByRole("button", { name: "Verify", exact: true }).click();
  await expect(page.getByText(/Verified: consistent/)).toBeVisible({ timeout: ENGINE_LIMIT_MS });
  await expectAccessible(page);
}
