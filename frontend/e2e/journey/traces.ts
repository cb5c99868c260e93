import { sumTrace } from "../../src/testing/traces";
import { expect, type Visit } from "../support/app";
import { expectAccessible } from "../support/axe";

const WRONG = {
  prompt: "A train covers 120 km in 1.5 hours. What is its speed in km/h?",
  steps: [
    { i: 0, type: "reasoning", content: "Speed is distance over time: $v = \\frac{s}{t}$." },
    { i: 1, type: "reasoning", content: "So 120 / 1.5 = 90 km/h." },
  ],
  final_answer: "90",
  meta: { source: "own" },
};
/** Every third sum has a carry. */
const SUMS = Array.from({ length: 24 }, (_, left) => ({
  ...sumTrace(left + 1, 100, "marbles"),
  meta: { source: "marbles", category: left % 3 === 0 ? "carrying" : "plain" },
}));

/** Imports and lints a file of traces, then finds the wrong one. */
export async function importAndLint({ page }: Visit): Promise<void> {
  await page.goto("/traces");
  await page.getByRole("button", { name: "Import a file" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Import traces" });
  const lines = [WRONG, ...SUMS].map((trace) => JSON.stringify(trace)).join("\n");
  await dialog
    .getByLabel("File")
    .setInputFiles({ name: "own.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(lines) });
  await dialog.getByRole("button", { name: "Import" }).click();
  await page.getByRole("button", { name: "Lint now" }).click();
  await expect(page.getByRole("row", { name: /Ana has 24 marbles/ })).toContainText("100");
  await page.getByRole("link", { name: "Wrong arithmetic" }).click();
  await expect(page.getByText("1 trace", { exact: true })).toBeVisible();
  await page.reload();
  await page.getByRole("link", { name: /A train covers/ }).click();
  await expect(page.locator("mark")).toHaveText("90");
  await expect(page.locator(".katex").first()).toBeVisible();
}

/** Repairs the wrong step by keyboard across a reload, then compares the versions. */
export async function reviewByKeyboard({ page, request, app }: Visit): Promise<void> {
  await page.goto("/traces?text=train");
  await page.getByRole("link", { name: /A train covers/ }).click();
  await page.getByRole("link", { name: "Review steps" }).click();
  await expect(page.getByRole("list", { name: "Steps to review" })).toBeVisible();
  await page.keyboard.press("a");
  await expect(page.getByText("1 of 2 steps reviewed")).toBeVisible();
  await page.keyboard.press("e");
  await page.getByLabel("Corrected text of step 1").fill("So 120 / 1.5 = 80 km/h.");
  await page.keyboard.press("Control+Enter");
  await page.getByLabel("Corrected answer").fill("80");
  await page.reload();
  await expect(page.getByText("2 of 2 steps reviewed")).toBeVisible();
  await expect(page.getByText("No findings remain.")).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("s");
  await page.getByRole("link", { name: /Compare with/ }).click();
  await expect(page.locator("ins").first()).toHaveText("80");
  const entries = await request.get(`${app.url}/api/traces/revisions/preferences.jsonl`);
  expect((await entries.text()).trim().split("\n")).toHaveLength(1);
}
