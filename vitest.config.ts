/** How the tests run: each file in its own process (isolated-vm and kept-open git processes do not share one well). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Keys and confirmations of the tests' workspaces.
const state = mkdtempSync(join(tmpdir(), "cleared-state-"));
process.once("exit", () => rmSync(state, { recursive: true, force: true }));

/** Left out by `npm test -- --fast`: suites that start many processes, a browser, or kill them on purpose. */
const SLOW = ["test/**/*.slow.test.ts", "test/hostile/**", "test/legal/**", "test/kill/**", "test/cli/**", "test/web/**", "test/bin/**"];

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: process.env["CLEARED_FAST"] === "1" ? SLOW : [],
    pool: "forks",
    // Two cores are what CI has; more workers would only make time-bound tests miss their bounds.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // What only passes the second time is named at the end of the run: a stalled machine is no reason to lose a change, but it is said.
    retry: process.env["CI"] === "true" ? 1 : 0,
    // One clock for everybody: a test that needs another zone names it.
    env: { TZ: "UTC", LC_ALL: "C.UTF-8", XDG_STATE_HOME: state },
  },
});
