import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type LaunchOptions } from "@playwright/test";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const APPLICATIONS = ["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"];
const DOWNLOAD = "npx playwright install chromium";
/** For root only. A system has one of these package managers; the commands of the others are not there. */
const FROM_THE_SYSTEM = [
  "apt-get update",
  "apt-get install -y --no-install-recommends chromium",
  "dnf install -y chromium",
  "apk add chromium",
];

/** What is asked of a machine to find or get a browser. */
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

/** The browser to test in: one of this machine, else what Playwright has downloaded. */
export function installedBrowser(): { launchOptions: LaunchOptions } {
  const executablePath = browserIn(pathFolders());
  // In a container without user namespaces Chromium's sandbox cannot start for root.
  const args = THIS_MACHINE.isRoot ? ["--no-sandbox"] : [];
  return { launchOptions: { args, ...(executablePath !== null && { executablePath }) } };
}

/** Make sure that there is a browser: installed, downloaded by Playwright, or from the system when we are root. */
export function provideBrowser({ hasBrowser, isRoot, run }: Machine = THIS_MACHINE): void {
  if (hasBrowser()) return;
  for (const command of isRoot ? [DOWNLOAD, ...FROM_THE_SYSTEM] : [DOWNLOAD]) {
    run(command);
    if (hasBrowser()) return;
  }
  throw new Error("There is no browser to test in. Install Chromium or Chrome, then run the same command again.");
}

/** The first Chromium or Chrome of these folders, or of where applications are, that starts. */
export function browserIn(folders: readonly string[]): string | null {
  const candidates = [...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))), ...APPLICATIONS];
  return candidates.find(starts) ?? null;
}

/** Being there is not enough: a download without the system's libraries starts nothing. */
function starts(path: string): boolean {
  return existsSync(path) && spawnSync(path, ["--version"], { stdio: "ignore" }).status === 0;
}

function pathFolders(): string[] {
  return (process.env.PATH ?? "").split(delimiter);
}
