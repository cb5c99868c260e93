import { defineConfig } from "@playwright/test";
import { installedBrowser } from "./e2e/support/browser";

// One worker, to leave the cores to the server and its training.
export default defineConfig({
  testDir: "e2e",
  testMatch: "*.spec.ts",
  outputDir: "test-results",
  workers: 1,
  // A test that passes on retry is reported as flaky.
  retries: process.env.CI === undefined ? 0 : 1,
  // Tests wait for conditions. These limits only stop waits that will never finish.
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
