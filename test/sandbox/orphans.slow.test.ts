/** Killed at any moment of its children's start, alone or with its process group, the runtime leaves no process behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { until } from "../cli/command-line.ts";

const KILLED = process.env["CLEARED_LONG"] === "1" ? 200 : 50;
const SPAWN = fileURLToPath(new URL("../../runtime/sandbox/spawn.ts", import.meta.url));
// From here until all three children are up it takes some 40 ms.
const STARTS = `const { spawnChild, scriptChild } = await import(${JSON.stringify(SPAWN)});
const kind = scriptChild({ jit: false, maxFrame: () => 1 << 20 });
process.stdout.write("go\\n");
for (let i = 0; i < 3; i++) spawnChild(kind);
setInterval(() => undefined, 1000);`;

/** What lives in these process groups; one that has ended and is not taken away yet is no process. */
function livingIn(groups: ReadonlySet<number>): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return groups.has(Number(group)) && state !== "Z" && state !== "X" ? [stat] : [];
    } catch {
      return []; // gone meanwhile
    }
  });
}

test.runIf(process.platform === "linux")("killed while its children start, it leaves none behind", async () => {
  const groups = new Set<number>();
  for (let i = 0; i < KILLED; i++) {
    const started = spawn(process.execPath, ["--input-type=module", "-e", STARTS], {
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { pid = 0 } = started;
    groups.add(pid);
    await once(started.stdout, "data");
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
    process.kill(i % 2 === 0 ? pid : -pid, "SIGKILL");
    await once(started, "exit");
  }
  await until(() => livingIn(groups).length === 0).catch(() => undefined);
  expect(livingIn(groups)).toEqual([]);
});
