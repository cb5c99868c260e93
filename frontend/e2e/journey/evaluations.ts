import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type App, expect, type Visit } from "../support/app";
import { expectAccessible } from "../support/axe";
import { tunixRt } from "../support/cli";
import { ENGINE_LIMIT_MS } from "./training";

const NUMBERS = Array.from({ length: 12 }, (_, index) => index + 10);
const ITEMS = NUMBERS.map((n) => ({
  id: `sum-${n}`,
  prompt: `What is ${n} + ${n}?`,
  expected_answer: `${2 * n}`,
  section: "core",
  category: "addition",
  difficulty: "easy",
}));

/** An eval set of twelve sums with the predictions of two models: one answers all correctly, the other two of them. */
export async function scoreTwoModels({ home }: App): Promise<void> {
  const exam = join(home, "evalsets", "sums.jsonl");
  await mkdir(join(home, "evalsets"), { recursive: true });
  await writeFile(exam, asLines(ITEMS));
  await Promise.all([score(home, exam, "good", NUMBERS.length), score(home, exam, "worse", 2)]);
}

/** Scores texts that answer the first `numRight` items correctly, with the real checkers. */
async function score(home: string, exam: string, name: string, numRight: number): Promise<void> {
  const texts = NUMBERS.map((n, index) => {
    const result = index < numRight ? 2 * n : 2 * n + 1;
    const prediction = `<reasoning>\n${n} + ${n} = ${result}\n</reasoning>\n<answer>${result}</answer>`;
    return { id: `sum-${n}`, prediction };
  });
  const predictions = join(home, `${name}.jsonl`);
  await writeFile(predictions, asLines(texts));
  await tunixRt(home, "eval", "score", "--predictions", predictions, "--eval-set", exam, "--name", name);
}

/** Checks the lost items of the worse model. */
export async function compareModels({ page }: Visit): Promise<void> {
  await page.goto("/evaluations?order=best");
  await page.getByRole("row", { name: /good/ }).getByRole("checkbox").check();
  await page.getByRole("row", { name: /worse/ }).getByRole("checkbox").check();
  await page.getByRole("link", { name: "Compare selected" }).click();
  await expect(page.getByText("The other is significantly worse (p = 0.002).")).toBeVisible();
  await page.reload();
  await expect(page.getByText("10 flips")).toBeVisible();
  const flip = page.getByRole("region", { name: "sum-12", exact: true });
  await flip.getByRole("link", { name: "worse" }).click();
  await expect(page.getByText("arithmetic wrong")).toBeVisible();
}

/** Checks that the worse model fails the gate and ranks lower on the leaderboard. */
export async function failTheGate({ page }: Visit): Promise<void> {
  await page.goto("/gates");
  await page.getByRole("button", { name: "New baseline" }).click();
  const good = await page.getByRole("option", { name: /^good on/ }).textContent();
  await page.getByRole("combobox", { name: "Evaluation", exact: true }).selectOption(good);
  await page.getByRole("button", { name: "Save baseline" }).click();
  await expect(page.getByRole("heading", { name: "Gate main" })).toBeVisible();
  const worse = await page.getByRole("option", { name: /^worse on/ }).textContent();
  await page.getByLabel("Evaluation of the new model").selectOption(worse);
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await expect(page.getByText("It fails the gate.")).toBeVisible();
  await page.reload();
  await expect(page.getByRole("row", { name: /worse.*fail/ })).toBeVisible();
  await page.goto("/leaderboard");
  await expect(page.getByRole("row", { name: /^1 good/ })).toBeVisible();
}

/** Evaluates the trained model on a few questions and opens an item. */
export async function evaluateRun({ page }: Visit, runId: string): Promise<void> {
  await page.goto(`/runs/${runId}`);
  await page.getByRole("button", { name: "Evaluate", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: /^Evaluate / });
  await dialog.getByLabel("Eval set").selectOption("sums");
  await dialog.getByLabel("Max new tokens").fill("16");
  await dialog.getByLabel("Question limit").fill("4");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Start evaluation" }).click();
  await page.reload();
  const task = page.getByRole("list", { name: "Tasks" });
  await task.getByRole("link", { name: /on sums, first 4 questions$/ }).click({ timeout: ENGINE_LIMIT_MS });
  await page.getByRole("tab", { name: "Items" }).click();
  await page.reload();
  await page.getByRole("link", { name: "sum-10" }).click();
  await expect(page.getByText("What is 10 + 10?").first()).toBeVisible();
}

function asLines(rows: object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}
