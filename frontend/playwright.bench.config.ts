import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** What the web app is measured with: `npm run bench`, on a quiet machine. */
export default defineConfig({
  ...tests,
  testDir: "bench",
  testMatch: "*.bench.ts",
  reporter: [["./bench/tableReporter.ts"]],
});
