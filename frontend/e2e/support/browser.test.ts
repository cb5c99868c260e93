import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { browserIn, provideBrowser } from "./browser";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tunix-rt-browsers-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A fake program with this name and exit code. */
function install(name: string, exitCode = 0): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\nexit ${exitCode}\n`, { mode: 0o755 });
  return path;
}

/** The commands run until one of them provides a browser. */
function commandsUntil(word: string, isRoot: boolean): string[] {
  const commands: string[] = [];
  provideBrowser({
    hasBrowser: () => commands.at(-1)?.includes(word) ?? false,
    isRoot,
    run: (command) => commands.push(command),
  });
  return commands;
}

test("an installed Chrome is found by name", () => {
  const chrome = install("google-chrome");

  expect(browserIn(["/nowhere", folder])).toBe(chrome);
});

test("a browser that does not start is skipped", () => {
  install("chromium", 127);
  const chrome = install("google-chrome");

  expect(browserIn([folder])).toBe(chrome);
});

test("nothing is run when a browser exists", () => {
  provideBrowser({
    hasBrowser: () => true,
    isRoot: true,
    run: () => {
      throw new Error("There is a browser already.");
    },
  });
});

test("Playwright's download is tried first", () => {
  expect(commandsUntil("playwright install", true)).toEqual(["npx playwright install chromium"]);
});

test("root installs the system package as a fallback", () => {
  expect(commandsUntil("apt-get install", true).slice(1)).toEqual([
    "apt-get update",
    "apt-get install -y --no-install-recommends chromium",
  ]);
});

test("non-root users are told what to install", () => {
  expect(() => commandsUntil("apt-get install", false)).toThrow("Install Chromium or Chrome");
});
