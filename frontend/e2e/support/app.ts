import { type APIRequestContext, type Page, test as base } from "@playwright/test";
import { startServer } from "../../src/testing/server";

export interface App {
  url: string;
  /** The server's `TUNIX_RT_HOME`, for CLI commands. */
  home: string;
}

/** The fixtures of each part of the journey. */
export interface Visit {
  page: Page;
  app: App;
  request: APIRequestContext;
}

interface TestFixtures {
  /** Prints the page text of a failed test. */
  printsPageOnFailure: undefined;
}

interface WorkerFixtures {
  /** A real server and worker with an empty home, shared by all tests. */
  app: App;
}

/** Playwright's `test` with the real server: `page.goto("/runs")` opens it. */
export const test = base.extend<TestFixtures, WorkerFixtures>({
  printsPageOnFailure: [
    async ({ page }, use, testInfo) => {
      await use(undefined);
      if (testInfo.status === testInfo.expectedStatus) return;
      const words = await page.locator("body").innerText();
      process.stdout.write(`\n${testInfo.title}: ${page.url()} shows\n${words}\n`);
    },
    { auto: true },
  ],
  app: [
    // Playwright requires destructured fixtures, even when there are none.
    // eslint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const server = await startServer();
      await use({ url: server.url, home: server.home });
      await server.stop();
    },
    { scope: "worker", timeout: 180_000 },
  ],
  baseURL: async ({ app }, use) => {
    await use(app.url);
  },
});

export { expect } from "@playwright/test";
