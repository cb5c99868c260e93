import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** The screenshots of the documentation: `npm run screenshots`. */
export default defineConfig({ ...tests, testDir: "screenshots", testMatch: "*.shots.ts", reporter: [["list"]] });
