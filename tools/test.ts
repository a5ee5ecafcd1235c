/**
 * `npm test [-- NAME...] [--fast | --long]`: vitest, the CPU time of the files that took the most (with NAME: of each), and one closing line
 * `N passed, N failed[, N skipped]` that people and scripts can read. NAME selects the test files whose path contains it. With CI=true a
 * skipped test fails the run, unless the host forbids what it needs.
 */
import { cpus } from "node:os";
import { startVitest } from "vitest/node";
import { FORBIDDEN, missingTools } from "./system-tools.ts";

/** Number of files listed at the end of a full run, those that took the most CPU time. */
const MOST = 10;
/** A file that still runs this long after the last one has started should have started earlier. */
const LATE_MS = 10_000;
/** Idle and total time of the cores: includes killed processes, whose CPU time no file reports. */
const cores = () => {
  const times = cpus().flatMap((core) => Object.entries(core.times));
  const sum = (wanted: RegExp) => times.reduce((total, [name, ms]) => total + (wanted.test(name) ? ms : 0), 0);
  return { idle: sum(/idle/), all: sum(/./) };
};

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith("--"));
const unknown = args.filter((arg) => arg.startsWith("--") && arg !== "--fast" && arg !== "--long");
if (unknown.length > 0) {
  console.error(`npm test does not know ${unknown.join(" ")}. Use: npm test -- [NAME...] [--fast | --long]`);
  process.exit(2);
}
if (args.includes("--fast")) process.env["CLEARED_FAST"] = "1";
// Suites that try a seeded share of their cases (drills, rewrites, statements) try all of them.
if (args.includes("--long")) process.env["CLEARED_LONG"] = "1";

const ci = process.env["CI"] === "true" || process.env["CI"] === "1";
const missing = missingTools();
if (missing.length > 0)
  console.log(`Not on this machine: ${missing.join(", ")}. The tests that need ${missing.length === 1 ? "it" : "them"} are skipped.`);

const before = cores();
const vitest = await startVitest("test", names, { watch: false });
const count = { passed: 0, failed: 0, skipped: 0 };
const second: string[] = [];
const forbidden: string[] = [];
const cpu: { path: string; seconds: number; from: number; to: number }[] = [];
for (const module of vitest.state.getTestModules()) {
  let inModule = 0;
  const times: number[] = [];
  for (const test of module.children.allTests()) {
    const result = test.result();
    const { state } = result;
    if (state === "passed" && (test.diagnostic()?.retryCount ?? 0) > 0) second.push(test.fullName);
    if (state === "skipped" && result.note?.startsWith(FORBIDDEN)) forbidden.push(result.note);
    if (state === "pending")
      count.failed++; // the run ended before the test did
    else count[state]++;
    inModule++;
    const diagnostic = test.diagnostic();
    if (diagnostic !== undefined) times.push(diagnostic.startTime, diagnostic.startTime + diagnostic.duration);
  }
  const { cpuMs = 0 } = module.meta() as { cpuMs?: number };
  cpu.push({ path: module.relativeModuleId, seconds: cpuMs / 1000, from: Math.min(...times), to: Math.max(...times) });
  // A file that does not load, or whose hooks fail, has errors of its own and may have no failed test.
  if (module.state() === "failed" && (inModule === 0 || module.errors().length > 0)) count.failed++;
}
count.failed += vitest.state.getUnhandledErrors().length;
await vitest.close();
const after = cores();

// Where the time of a run went: CPU time of each file, including processes whose end it saw.
const costliest = cpu.toSorted((a, b) => b.seconds - a.seconds).slice(0, names.length > 0 ? cpu.length : MOST);
for (const { path, seconds } of costliest) console.log(`${seconds.toFixed(1).padStart(7)} s of CPU time  ${path}`);
console.log(`${(cpu.reduce((sum, { seconds }) => sum + seconds, 0) / 60).toFixed(1)} min of CPU time in ${cpu.length} files`);
console.log(`The cores were ${Math.round(100 - (100 * (after.idle - before.idle)) / (after.all - before.all))} % busy in total`);
const last = Math.max(...cpu.map(({ from }) => (from < Infinity ? from : 0)));
for (const { path, to } of names.length > 0 ? [] : cpu.filter(({ to }) => to - last > LATE_MS))
  console.log(`Still ran ${((to - last) / 1000).toFixed(0)} s after all had begun, so it belongs in LONGEST of vitest.config.ts: ${path}`);
for (const name of second) console.log(`Passed only the second time: ${name}`);
const nothing = count.passed + count.failed + count.skipped === 0;
if (nothing)
  console.log(names.length > 0 ? `No test file has ${names.map((name) => `"${name}"`).join(" or ")} in its path.` : "No test was found.");
if (forbidden.length > 0) console.log(`Skipped ${forbidden.length} tests of the jail around scripts: ${forbidden[0]}`);
const failing = ci && count.skipped > forbidden.length;
if (failing) console.log("CI=true: a skipped test counts as a failure, because CI has what every test needs.");
console.log(`${count.passed} passed, ${count.failed} failed${count.skipped > 0 ? `, ${count.skipped} skipped` : ""}`);
process.exit(count.failed > 0 || nothing || failing ? 1 : 0);
