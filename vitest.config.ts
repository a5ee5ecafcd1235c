/**
 * How the tests run: each file in a process of its own, but those that start nothing share some. Node reads our files itself, as in the
 * product, with its compile cache. tools/test.ts starts it and tells what CPU time the files took; test/each-file.js holds the fast ones to a
 * budget of it.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { NODE_FLAGS } from "./bin/launcher.js";

const TMPFS = 0x01021994;
const ENOUGH = 4 * 2 ** 30;

/** Where there is room workspaces lie in memory: they are made, synced and removed thousands of times. */
function inMemory(): string | null {
  try {
    const { type, bavail, bsize } = statfsSync("/dev/shm");
    return type === TMPFS && bavail * bsize >= ENOUGH && freemem() >= ENOUGH ? "/dev/shm" : null;
  } catch {
    return null; // not Linux
  }
}

// All that tests make, removed at the end; keys and confirmations of their workspaces, and what several files copy from (test/made-once.ts).
const place = mkdtempSync(join(inMemory() ?? tmpdir(), "cleared-tests-"));
chmodSync(place, 0o711); // some tests start processes as another user, who has files below it
for (const folder of ["state", "made"]) mkdirSync(join(place, folder), { mode: 0o700 });
process.once("exit", () => rmSync(place, { recursive: true, force: true }));

/** Left out by `npm test -- --fast`: what starts many processes or a browser, kills on purpose, or took over 5 s of CPU time. */
const SLOW = [
  "test/**/*.slow.test.ts",
  "test/{a2a,agents,mcp-server,bin,cli,erp,evidence,gate,hostile,kill,legal,meta,proposals,trust,web}/**",
  "test/checks/{dry-run,hostile,pipeline,typecheck}.test.ts",
  "test/engine/!(answers|states).test.ts",
  "test/mcp/{hostile,secrets,servers}.test.ts",
  "test/sandbox/{lost,tail-value}.test.ts",
  "test/synthesized/{check,run}.test.ts",
  "test/workspace/{git-leftovers,git-upkeep,journal-text,same-rows,statement-corners,view-imports}.test.ts",
];

/** Start no process and leave nothing behind in their own. */
const PURE = [
  "test/*.test.ts",
  "test/{answers,compute,errors,policy,primitives,states}/*.test.ts",
  "test/checks/lint.test.ts",
  "test/evidence/case-file.test.ts",
  "test/mcp/trust.test.ts",
  "test/notices/{quiet,settings}.test.ts",
  "test/privacy/guard.test.ts",
  "test/proposals/paths.test.ts",
  "test/sandbox/{header,yaml}.test.ts",
  "test/tools/{classify,pages,primitives,reads,vectors,verify}.test.ts",
  "test/triggers/{looks,schedules}.test.ts",
  "test/workspace/{config,receipt,statement-account}.test.ts",
  "test/workspace/statements/*.test.ts",
];
/** What takes longest begins first, so that nobody waits for it alone at the end; in this order, from the times of a whole run. */
const LONGEST = [
  ..."kill/drill cli/transcripts proposals/rewrites hostile/hostile engine/crash a2a/examples mcp/flood meta/cassettes".split(" "),
  ..."cli/environment cli/start cli/whole-files evidence/evolved meta/eval sandbox/lost a2a/push gate/lost web/page".split(" "),
  ..."evidence/truth engine/kill trust/arrived a2a/call meta/safety kill/frozen proposals/separate proposals/second".split(" "),
  ..."proposals/fixtures proposals/cards agents/faults mcp/hostile meta/second-derivation cli/container proposals/proof".split(" "),
  ..."a2a/restart cli/propose-killed mcp-server/limits evidence/large agents/demo trust/endless meta/injections".split(" "),
];
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((name) => moduleId.includes(`/test/${name}.`));
      return at < 0 ? LONGEST.length : at;
    };
    return sorted.sort((a, b) => place(a) - place(b));
  }
}

const fast = process.env["CLEARED_FAST"] === "1" ? SLOW : [];

export default defineConfig({
  test: {
    pool: "forks",
    // Twice the two cores of CI, because files also wait (a kill, a lease, a file that settles); the runner tells how busy the cores were.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Of a test that hangs. How long one takes says more about the machine than about the test, so none has a time of its own.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // What only passes the second time is named at the end of the run: a stalled machine is no reason to lose a change, but it is said.
    retry: process.env["CI"] === "true" ? 1 : 0,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: [...NODE_FLAGS, "--import", join(import.meta.dirname, "bin", "follow.js")],
    setupFiles: ["test/each-file.js"],
    env: {
      // One clock for everybody: a test that needs another zone names it.
      TZ: "UTC",
      LC_ALL: "C.UTF-8",
      TMPDIR: place,
      XDG_STATE_HOME: join(place, "state"),
      CLEARED_MADE: join(place, "made"),
      // For the programs that tests start: reading all of the runtime anew takes each of them a second.
      NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules", ".cache", "compile"),
    },
    projects: [
      { extends: true, test: { name: "pure", include: PURE, isolate: false } },
      { extends: true, test: { name: "all", include: ["test/**/*.test.ts"], exclude: [...PURE, ...fast] } },
    ],
  },
});
