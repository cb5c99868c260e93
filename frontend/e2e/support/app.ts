import { test as base } from "@playwright/test";
import { startServer } from "../../src/testing/server";

interface App {
  url: string;
  /** The server's own `TUNIX_RT_HOME`: for commands that work beside it. */
  home: string;
}

interface WorkerFixtures {
  /** The real server, with a home of its own that starts empty; each file of tests gets a fresh one. */
  app: App;
}

/** Playwright's `test` with the real server: `page.goto("/runs")` opens it. */
export const test = base.extend<object, WorkerFixtures>({
  app: [
    // Playwright wants the fixtures that it needs by destructuring, also when there are none.
    // eslint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const server = await startServer();
      await use({ url: server.url, home: server.home });
      await server.stop();
    },
    { scope: "worker" },
  ],
  baseURL: async ({ app }, use) => {
    await use(app.url);
  },
});

export { expect } from "@playwright/test";
