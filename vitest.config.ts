import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/**/src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/bench/**"],
    globalSetup: ["test/support/global-setup.ts"],
    // Processes, not threads: tests start servers, send signals and depend on the working directory.
    pool: "forks",
    // Much of a test's time is spent waiting for PostgreSQL, so one more than the cores of a small machine.
    maxWorkers: 3,
    // Deployments on two busy cores take their time.
    testTimeout: 90_000,
    hookTimeout: 60_000,
  },
});
