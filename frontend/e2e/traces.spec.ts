import { expect, test } from "./support/app";
import { expectAccessible } from "./support/axe";
import { takeScreenshots } from "./support/screenshots";

const WRONG = {
  prompt: "A train covers 120 km in 1.5 hours. What is its speed in km/h?",
  steps: [
    { i: 0, type: "reasoning", content: "Speed is distance over time: $v = \\frac{s}{t}$." },
    { i: 1, type: "reasoning", content: "So 120 / 1.5 = 90 km/h." },
  ],
  final_answer: "90",
  meta: { source: "own" },
};
const RIGHT = {
  prompt: "What is 2 + 3?",
  steps: [{ i: 0, type: "reasoning", content: "2 + 3 = 5" }],
  final_answer: "5",
  meta: { source: "own" },
};

test("traces are imported, linted, found, repaired from the keyboard and compared", async ({ page }) => {
  await page.goto("/traces");
  await page.getByRole("button", { name: "Import a file" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Import traces" });
  const lines = [WRONG, RIGHT].map((trace) => JSON.stringify(trace)).join("\n");
  await dialog
    .getByLabel("File")
    .setInputFiles({ name: "own.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(lines) });
  await dialog.getByRole("button", { name: "Import" }).click();
  await page.getByRole("button", { name: "Lint them" }).click();
  await expect(page.getByRole("row", { name: /What is 2/ })).toContainText("100");
  await expectAccessible(page);
  await takeScreenshots(page, "traces");

  await page.getByRole("link", { name: "Wrong arithmetic" }).click();
  await expect(page.getByText("1 trace", { exact: true })).toBeVisible();
  await page.reload();
  await page.getByRole("link", { name: /A train covers/ }).click();
  await expect(page.locator("mark")).toHaveText("90");
  await expect(page.locator(".katex").first()).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "trace");

  await page.getByRole("link", { name: "Review the steps" }).click();
  await expect(page.getByRole("list", { name: "Steps to review" })).toBeVisible();
  await page.keyboard.press("a");
  await expect(page.getByText("1 of 2 judged")).toBeVisible();
  await page.keyboard.press("e");
  await page.getByLabel("What step 1 should say").fill("So 120 / 1.5 = 80 km/h.");
  await page.keyboard.press("Control+Enter");
  await page.getByLabel("What the answer should be").fill("80");
  await page.reload();
  await expect(page.getByText("2 of 2 judged")).toBeVisible();
  await expect(page.getByText("Nothing is left that the linter would find.")).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "workbench");
  await page.keyboard.press("s");

  await page.getByRole("link", { name: /Compare with/ }).click();
  await expect(page.locator("ins").first()).toHaveText("80");
  await expectAccessible(page);
  await takeScreenshots(page, "trace-compare");
  const pairs = await page.request.get("/api/traces/revisions/preferences.jsonl");
  expect((await pairs.text()).trim().split("\n")).toHaveLength(1);
});
