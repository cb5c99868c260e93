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
const GRAVE = ["serious", "critical"];

/** No serious violation of WCAG 2.2 AA on the page as it is now. */
export async function expectAccessible(page: Page): Promise<void> {
  await expectNoneGrave(page, EVERY_RULE);
}

/** The same, and the dark colours too: nothing but colours depends on the theme. */
export async function expectAccessibleInBothThemes(page: Page): Promise<void> {
  await expectNoneGrave(page, EVERY_RULE);
  await page.emulateMedia({ colorScheme: "dark" });
  await expectNoneGrave(page, CONTRAST);
  await page.emulateMedia({ colorScheme: "light" });
}

async function expectNoneGrave(page: Page, options: RunOptions): Promise<void> {
  // As an expression: the page's policy allows no script tags that are not its own.
  await page.evaluate(`globalThis.axe ?? (() => {${AXE}})()`);
  const results = await page.evaluate<AxeResults, RunOptions>(
    (given) => (window as unknown as { axe: typeof axe }).axe.run(given),
    options,
  );
  const grave = results.violations.filter(({ impact }) => GRAVE.includes(impact ?? ""));
  const told = grave.map(({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.map(({ html }) => html).join("\n  ")}`);
  expect(told, `axe on ${page.url()}`).toEqual([]);
}
