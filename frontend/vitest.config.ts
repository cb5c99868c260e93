import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  test: {
    testTimeout: 60_000,
    // By default Vitest would leave one of two cores unused.
    maxWorkers: "100%",
    coverage: {
      include: ["src/**/*.{ts,tsx}"],
      exclude: ["src/testing/**", "src/api/schema.gen.ts", "src/app/main.tsx", "src/**/*.d.ts"],
      reporter: ["text-summary"],
      thresholds: { lines: 80 },
    },
    projects: [
      {
        extends: true,
        test: {
          name: "client against a real server",
          include: [
            "src/api/**/*.test.ts",
            "src/features/*/queries.test.ts",
            "scripts/**/*.test.ts",
            "e2e/support/*.test.ts",
          ],
          globalSetup: "src/testing/server.ts",
          setupFiles: "src/testing/realServer.ts",
        },
      },
      {
        extends: true,
        test: {
          name: "components",
          include: ["src/{ui,features,app}/**/*.test.{ts,tsx}"],
          exclude: ["src/features/*/queries.test.ts"],
          environment: "happy-dom",
          // Modules are loaded once for all files, because tests clean up after themselves (see setup.ts).
          isolate: false,
          setupFiles: "src/testing/setup.ts",
        },
      },
    ],
  },
});
