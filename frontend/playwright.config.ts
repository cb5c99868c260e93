import { defineConfig } from "@playwright/test";
import { installedBrowser } from "./e2e/support/browser";

// One worker: the machine's cores belong to the server and to what it trains.
export default defineConfig({
  testDir: "e2e",
  testMatch: "*.spec.ts",
  outputDir: "test-results",
  workers: 1,
  // What passes only the second time is called flaky in the report.
  retries: process.env.CI === undefined ? 0 : 1,
  // Waits are for conditions: these limits only end what will never happen.
  timeout: 900_000,
  expect: { timeout: 60_000 },
  reporter: [["line"]],
  globalSetup: "./e2e/support/globalSetup.ts",
  use: {
    ...installedBrowser(),
    viewport: { width: 1280, height: 800 },
    actionTimeout: 120_000,
    trace: "retain-on-failure",
  },
});
