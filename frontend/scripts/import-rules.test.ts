import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ESLint } from "eslint";
import { afterAll, beforeAll, expect, test } from "vitest";
import { importRules } from "./import-rules.js";

const FILES = [
  "api/client.js",
  "ui/button.js",
  "features/runs/page.js",
  "features/runs/table.js",
  "features/traces/page.js",
  "features/traces/queries.js",
  "features/traces/shared/badge.js",
  "app/main.js",
];
let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "tunix-rt-imports-"));
  for (const file of FILES) {
    mkdirSync(dirname(join(root, "src", file)), { recursive: true });
    writeFileSync(join(root, "src", file), "export default 1;\n");
  }
});

afterAll(() => {
  rmSync(root, { recursive: true });
});

test.each([
  ["app/main.js", "../features/runs/page.js"],
  ["features/runs/page.js", "../../ui/button.js"],
  ["features/runs/page.js", "./table.js"],
  ["features/runs/page.js", "../traces/queries.js"],
  ["features/runs/page.js", "../traces/shared/badge.js"],
  ["ui/button.js", "../api/client.js"],
])("%s may import %s", async (from, to) => {
  expect(await refusedImports(from, to)).toEqual([]);
});

test.each([
  ["api/client.js", "../ui/button.js"],
  ["api/client.js", "../app/main.js"],
  ["ui/button.js", "../features/runs/page.js"],
  ["features/runs/page.js", "../../app/main.js"],
  ["features/runs/page.js", "../traces/page.js"],
])("%s may not import %s", async (from, to) => {
  expect(await refusedImports(from, to)).toEqual(["import-x/no-restricted-paths"]);
});

async function refusedImports(from: string, to: string): Promise<(string | null)[]> {
  const eslint = new ESLint({ cwd: root, overrideConfigFile: true, baseConfig: importRules(root) });
  const results = await eslint.lintText(`import "${to}";\n`, { filePath: join(root, "src", from) });
  return results.flatMap((result) => result.messages.map((message) => message.ruleId));
}
