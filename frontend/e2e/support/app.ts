import { type APIRequestContext, type Page, test as base } from "@playwright/test";
import { startServer } from "../../src/testing/server";

export interface App {
  url: string;
  /** The server's own `TUNIX_RT_HOME`: for commands that work beside it. */
  home: string;
}

/** What a part of the journey is given. */
export interface Visit {
  page: Page;
  app: App;
  request: APIRequestContext;
}

interface TestFixtures {
  /** Of a part that failed, the words on its page: what a person would have read there. */
  saysWhatItShowed: undefined;
}

interface WorkerFixtures {
  /** The real server with a real worker, and a home of its own that starts empty: one for all tests. */
  app: App;
}

/** Playwright's `test` with the real server: `page.goto("/runs")` opens it. */
export const test = base.extend<TestFixtures, WorkerFixtures>({
  saysWhatItShowed: [
    async ({ page }, use, testInfo) => {
      await use(undefined);
      if (testInfo.status === testInfo.expectedStatus) return;
      const words = await page.locator("body").innerText();
      process.stdout.write(`\n${testInfo.title}: ${page.url()} shows\n${words}\n`);
    },
    { auto: true },
  ],
  app: [
    // Playwright wants the fixtures that it needs by destructuring, also when there are none.
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
