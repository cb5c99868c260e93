import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  test: {
    testTimeout: 60_000,
    // On two cores Vitest would take one of them.
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
          include: ["src/api/**/*.test.ts", "scripts/**/*.test.ts", "e2e/support/*.test.ts"],
          globalSetup: "src/testing/server.ts",
          setupFiles: "src/testing/realServer.ts",
        },
      },
      {
        extends: true,
        test: {
          name: "components",
          include: ["src/{ui,screens,app}/**/*.test.{ts,tsx}"],
          environment: "happy-dom",
          // Screens are loaded once, not once a file: the tests leave nothing behind (see setup.ts).
          isolate: false,
          setupFiles: "src/testing/setup.ts",
        },
      },
    ],
  },
});
