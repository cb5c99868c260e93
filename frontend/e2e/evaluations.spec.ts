import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "./support/app";
import { expectAccessible } from "./support/axe";
import { takeScreenshots } from "./support/screenshots";

const PYTHON = fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
const NUM_ITEMS = 12;

/** Have the real checkers judge texts of a model that answers the first `numRight` items right. */
function scoreTexts(home: string, name: string, numRight: number): void {
  const numbers = Array.from({ length: NUM_ITEMS }, (_, index) => index + 10);
  const items = numbers.map((n) => ({
    id: `sum-${n}`,
    prompt: `What is ${n} + ${n}?`,
    expected_answer: `${2 * n}`,
    section: "core",
    category: "addition",
    difficulty: "easy",
  }));
  const texts = numbers.map((n, index) => {
    const result = index < numRight ? 2 * n : 2 * n + 1;
    const work = `${n} + ${n} = ${result}`;
    return { id: `sum-${n}`, prediction: `<reasoning>\n${work}\n</reasoning>\n<answer>${result}</answer>` };
  });
  const [exam, predictions] = [join(home, "sums.jsonl"), join(home, `${name}.jsonl`)];
  writeFileSync(exam, items.map((item) => JSON.stringify(item)).join("\n"));
  writeFileSync(predictions, texts.map((text) => JSON.stringify(text)).join("\n"));
  const args = [
    "-m",
    "tunix_rt.cli",
    "eval",
    "score",
    "--predictions",
    predictions,
    "--eval-set",
    exam,
    "--name",
    name,
  ];
  const others = Object.entries(process.env).filter(([variable]) => !variable.startsWith("TUNIX_RT_"));
  execFileSync(PYTHON, args, { env: { ...Object.fromEntries(others), TUNIX_RT_HOME: home }, stdio: "pipe" });
}

test.beforeAll(({ app }) => {
  scoreTexts(app.home, "good", NUM_ITEMS);
  scoreTexts(app.home, "worse", 2);
});

test("a worse model is seen on the flip board, item by item", async ({ page }) => {
  await page.goto("/evaluations?order=best");
  await page.getByRole("row", { name: /good/ }).getByRole("checkbox").check();
  await page.getByRole("row", { name: /worse/ }).getByRole("checkbox").check();
  await expectAccessible(page);
  await takeScreenshots(page, "evaluations");
  await page.getByRole("link", { name: "Compare the two marked" }).click();
  await expect(page.getByText("The other is worse, by more than chance explains (p = 0.002).")).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "flip-board");
  await page.reload();
  await expect(page.getByText("10 flips")).toBeVisible();

  const flip = page.getByRole("region", { name: "sum-12", exact: true });
  await flip.getByRole("link", { name: "worse" }).click();
  await expect(page.getByText("arithmetic is wrong")).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "evaluation-item");
});

test("a worse model is stopped by the gate, and below the better one on the leaderboard", async ({ page }) => {
  await page.goto("/gates");
  await page.getByRole("button", { name: "Make a baseline" }).click();
  const good = await page.getByRole("option", { name: /^good on/ }).textContent();
  await page.getByLabel("Evaluation").selectOption(good);
  await page.getByRole("button", { name: "Save the baseline" }).click();
  await expect(page.getByRole("heading", { name: "Gate main" })).toBeVisible();
  const worse = await page.getByRole("option", { name: /^worse on/ }).textContent();
  await page.getByLabel("Evaluation of the new model").selectOption(worse);
  await page.getByRole("button", { name: "Check it" }).click();
  await expect(page.getByText("It must not take the baseline’s place.")).toBeVisible();
  await page.reload();
  await expect(page.getByRole("row", { name: /worse.*fail/ })).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "gate");

  await page.goto("/leaderboard");
  await expect(page.getByRole("row", { name: /^1 good/ })).toBeVisible();
  await expectAccessible(page);
  await takeScreenshots(page, "leaderboard");
});
