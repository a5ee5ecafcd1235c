/**
 * Before each file: measures its CPU time for tools/test.ts, all processes included that it has started and seen end, and holds the files
 * of `npm run test:fast` to a budget. In CPU time, because how long a file takes says more about the machine than about the file.
 */
import { readFileSync } from "node:fs";
import { afterAll } from "vitest";
import "./own-imports.js";

/** On two cores all fast files take under a minute. */
const BUDGET_MS = 8000;

const began = spent();
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the first parameter which fixtures a hook needs
afterAll(async ({}, file) => {
  const ms = spent() - began;
  Object.assign(file.meta, { cpuMs: ms });
  if (process.env["CLEARED_FAST"] !== "1" || ms <= BUDGET_MS) return;
  const seconds = (of) => `${(of / 1000).toFixed(1)} s`;
  throw new Error(
    `The file took ${seconds(ms)} of CPU time; a fast one may take ${seconds(BUDGET_MS)}. Split it, or call it NAME.slow.test.ts.`,
  );
});

/** CPU time of this process and of the children it has waited for, ms. */
function spent() {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / 1000 + children();
}

function children() {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    // Fields 16 and 17 of proc(5), in hundredths of a second; the first two end with the name in brackets.
    const [user = 0, system = 0] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(13, 15)
      .map(Number);
    return (user + system) * 10;
  } catch {
    return 0; // no /proc here: only this process is counted
  }
}
