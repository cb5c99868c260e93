import { defineConfig } from "@playwright/test";
import { installedBrowser } from "./e2e/support/browser";

// One worker: the machine's cores belong to the server and to what it trains.
export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  workers: 1,
  retries: 0,
  timeout: 90_000,
  expect: { timeout: 30_000 },
  reporter: [["line"]],
  globalSetup: "./e2e/support/globalSetup.ts",
  use: {
    ...installedBrowser(),
    viewport: { width: 1280, height: 800 },
    trace: "retain-on-failure",
  },
});
