import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** The web benchmarks: `npm run bench`, on an idle machine. */
export default defineConfig({
  ...tests,
  testDir: "bench",
  testMatch: "*.bench.ts",
  reporter: [["./bench/tableReporter.ts"]],
});
