import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type LaunchOptions } from "@playwright/test";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const APPLICATIONS = ["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"];

/** The browser to test in: one of this machine, else what Playwright has downloaded. */
export function installedBrowser(): { launchOptions: LaunchOptions } {
  const executablePath = browserOnThisMachine();
  // In a container without user namespaces Chromium's sandbox cannot start for root.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return { launchOptions: { args, ...(executablePath !== null && { executablePath }) } };
}

/** Make sure that there is a browser: installed, downloaded by Playwright, or from the system when we are root. */
export function provideBrowser(): void {
  if (browserOnThisMachine() !== null || existsSync(chromium.executablePath())) return;
  const ways = [["npx", "playwright", "install", "chromium"]];
  if (process.getuid?.() === 0) {
    ways.push(["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]);
  }
  for (const [command = "", ...args] of ways) {
    spawnSync(command, args, { stdio: "inherit" });
    if (browserOnThisMachine() !== null || existsSync(chromium.executablePath())) return;
  }
  throw new Error("There is no browser to test in. Install Chromium or Chrome, then run the same command again.");
}

function browserOnThisMachine(): string | null {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = [...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))), ...APPLICATIONS];
  return candidates.find((path) => existsSync(path)) ?? null;
}
