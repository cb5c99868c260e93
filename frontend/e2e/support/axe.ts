import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, type Page } from "@playwright/test";
import type axe from "axe-core";
import type { AxeResults, RunOptions } from "axe-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const EVERY_RULE: RunOptions = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
};
const CONTRAST: RunOptions = { runOnly: { type: "rule", values: ["color-contrast"] } };
const SERIOUS = ["serious", "critical"];

/** Asserts that the page has no serious WCAG 2.2 AA violation. */
export async function expectAccessible(page: Page): Promise<void> {
  await expectNoneSerious(page, EVERY_RULE);
}

/** The same, plus the contrast in dark mode: only colours depend on the theme. */
export async function expectAccessibleInBothThemes(page: Page): Promise<void> {
  await expectNoneSerious(page, EVERY_RULE);
  await page.emulateMedia({ colorScheme: "dark" });
  await expectNoneSerious(page, CONTRAST);
  await page.emulateMedia({ colorScheme: "light" });
}

async function expectNoneSerious(page: Page, options: RunOptions): Promise<void> {
  // Evaluated as an expression, because the content security policy forbids foreign script tags.
  await page.evaluate(`globalThis.axe ?? (() => {${AXE}})()`);
  const results = await page.evaluate<AxeResults, RunOptions>(
    (given) => (window as unknown as { axe: typeof axe }).axe.run(given),
    options,
  );
  const serious = results.violations.filter(({ impact }) => SERIOUS.includes(impact ?? ""));
  const messages = serious.map(
    ({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.map(({ html }) => html).join("\n  ")}`,
  );
  expect(messages, `axe on ${page.url()}`).toEqual([]);
}
