import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type LaunchOptions } from "@playwright/test";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const APPLICATIONS = ["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"];
const DOWNLOAD = "npx playwright install chromium";
/** For root only. A system has one of these package managers; the other commands fail. */
const FROM_THE_SYSTEM = [
  "apt-get update",
  "apt-get install -y --no-install-recommends chromium",
  "dnf install -y chromium",
  "apk add chromium",
];

/** The machine operations needed to find or install a browser. */
export interface Machine {
  hasBrowser: () => boolean;
  isRoot: boolean;
  run: (command: string) => void;
}

const THIS_MACHINE: Machine = {
  hasBrowser: () => browserIn(pathFolders()) !== null || starts(chromium.executablePath()),
  isRoot: process.getuid?.() === 0,
  run: (command) => spawnSync(command, { shell: true, stdio: "inherit" }),
};

/** The browser for tests: an installed one, or else Playwright's download. */
export function installedBrowser(): { launchOptions: LaunchOptions } {
  const executablePath = browserIn(pathFolders());
  // In a container without user namespaces Chromium's sandbox cannot start for root.
  const args = THIS_MACHINE.isRoot ? ["--no-sandbox"] : [];
  return { launchOptions: { args, ...(executablePath !== null && { executablePath }) } };
}

/** Ensures a browser: installed, downloaded by Playwright, or from the system packages when root. */
export function provideBrowser({ hasBrowser, isRoot, run }: Machine = THIS_MACHINE): void {
  if (hasBrowser()) return;
  for (const command of isRoot ? [DOWNLOAD, ...FROM_THE_SYSTEM] : [DOWNLOAD]) {
    run(command);
    if (hasBrowser()) return;
  }
  throw new Error("No browser found for the tests. Install Chromium or Chrome, then run the same command again.");
}

/** The first Chromium or Chrome in these folders or the applications folder that starts. */
export function browserIn(folders: readonly string[]): string | null {
  const candidates = [...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))), ...APPLICATIONS];
  return candidates.find(starts) ?? null;
}

/** Existing is not enough: a download without its system libraries does not start. */
function starts(path: string): boolean {
  return existsSync(path) && spawnSync(path, ["--version"], { stdio: "ignore" }).status === 0;
}

function pathFolders(): string[] {
  return (process.env.PATH ?? "").split(delimiter);
}
