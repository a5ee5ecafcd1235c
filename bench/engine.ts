/**
 * The engine: durable runs a second (no approval), CPU and bytes kept of each, the resume of a 200-step run in a fresh process, what
 * 10,000 waiting runs cost, and what `cleared start` holds while idle.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { OWNER_FLAGS } from "../bin/launcher.js";
import { openHost } from "../runtime/app/open-host.ts";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { CLEARED, cpuOf, family, median, memoryOf, spread } from "./measure.ts";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));
const command = [...CLEARED];

// What is garbage does not count as kept.
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const SMALL = `/*
name: Small
uses: [ctx, config]
*/
const limit = config_get("thresholds.auto_confirm");
ctx_log("working");
const day = ctx_today();
({ limit, day });
`;
const WAITING = `/*
name: Waiting
uses: [ctx, approval]
*/
approval_wait({ title: "Go on?", calls: [] });
({ done: true });
`;
// 200 recorded steps, then a gate; the resume serves them all again.
const LONG = `/*
name: Long
uses: [ctx, approval]
*/
for (let i = 0; i < 199; i++) ctx_log("step " + i);
approval_wait({ title: "Go on?", calls: [] });
({ done: true });
`;

async function workspace(name: string): Promise<string> {
  const dir = join(folder, name);
  await initWorkspace(dir, { name: "Bench", from: root, person: "Bench" });
  for (const [agent, text] of Object.entries({ small: SMALL, waiting: WAITING, long: LONG }))
    writeFileSync(join(dir, "agents", `${agent}.ts`), text);
  spawnSync("git", ["-C", dir, "add", "agents"]);
  spawnSync("git", ["-C", dir, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "agent: bench"]);
  return dir;
}

async function throughput(dir: string): Promise<void> {
  const host = await openHost(dir, { mode: "owner" });
  const store = join(dir, ".cleared", "store.db");
  const burst = async (name: string, runs: number) => {
    const ids = await Promise.all(
      Array.from({ length: runs }, (_, n) => host.start("small", { cause: { kind: "command", key: `${name}-${n}` }, input: {} })),
    );
    await Promise.all(ids.map(({ id }) => host.engine.result(id)));
  };
  try {
    await burst("warm", 200);
    host.database.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const before = statSync(store).size;
    const rates: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < 5; round++) {
      const used = cpuOf(family(process.pid));
      const started = performance.now();
      await burst(`round-${round}`, 500);
      rates.push(500 / ((performance.now() - started) / 1000));
      cpu.push((cpuOf(family(process.pid)) - used) / 500);
    }
    host.database.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const kept = (statSync(store).size - before) / 2500;
    console.log(
      `durable runs of 3 calls: ${median(rates).toFixed(0)}/s (${spread(rates, 0)}; target 250), ${median(cpu).toFixed(1)} ms CPU each in all processes (target 5), ${(kept / 1000).toFixed(2)} kB kept (target 3)`,
    );
  } finally {
    await host.close();
  }
}

async function resume(dir: string): Promise<void> {
  const used: number[] = [];
  for (let round = 0; round < 6; round++) {
    const waiting = JSON.parse(
      spawnSync(command[0] ?? "", [...command.slice(1), "run", "long", "--json", "--dir", dir], { encoding: "utf8" }).stdout,
    ) as { id: string };
    const cards = JSON.parse(
      spawnSync(command[0] ?? "", [...command.slice(1), "queue", "--json", "--dir", dir], { encoding: "utf8" }).stdout,
    ) as { id: number; run: string }[];
    const card = cards.find((one) => one.run === waiting.id);
    // GNU time counts the children a process has waited for, which resourceUsage() does not.
    const done = spawnSync("/usr/bin/time", ["-f", "%U %S", ...command, "approve", String(card?.id), "--json", "--dir", dir], {
      encoding: "utf8",
    });
    if (done.status !== 0) throw new Error(done.stderr);
    const [user = 0, system = 0] = (done.stderr.trim().split("\n").at(-1) ?? "").split(" ").map(Number);
    if (round > 0) used.push((user + system) * 1000);
  }
  console.log(
    `resume of a 200-step run in a fresh process (approve, replay, end): ${median(used).toFixed(0)} ms CPU of host and sandbox (${spread(used, 0)}; target 200)`,
  );
}

async function waiting(dir: string): Promise<void> {
  const host = await openHost(dir, { mode: "owner" });
  try {
    const start = async (from: number, to: number) => {
      for (let n = from; n < to; n += 500) {
        const ids = await Promise.all(
          Array.from({ length: Math.min(500, to - n) }, (_, i) =>
            host.start("waiting", { cause: { kind: "command", key: `w-${n + i}` }, input: {} }),
          ),
        );
        await Promise.all(ids.map(({ id }) => host.engine.result(id)));
      }
    };
    await start(0, 500);
    collect();
    const [processes, memory] = [family(process.pid).length, memoryOf(family(process.pid))];
    await start(500, 10_500);
    collect();
    console.log(
      `10,000 waiting runs add ${(memoryOf(family(process.pid)) - memory).toFixed(0)} MB (target 20) and ${family(process.pid).length - processes} processes (target 0)`,
    );
  } finally {
    await host.close();
  }
}

async function idle(dir: string): Promise<void> {
  // As a person starts it: the launcher is one of its processes.
  const child = spawn(process.execPath, [join(root, "bin", "cleared.js"), "start", "--port", "0", "--dir", dir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  await new Promise((resolve) => setTimeout(resolve, 35_000));
  const pids = family(child.pid ?? 0);
  console.log(`cleared start, idle for 35 s: ${memoryOf(pids).toFixed(0)} MB in ${pids.length} processes (target 200)`);
  child.kill("SIGTERM");
  await new Promise((resolve) => child.once("exit", resolve));
}

try {
  if (process.argv[2] === "waiting") await waiting(await workspace("waiting"));
  else {
    const dir = await workspace("engine");
    // In a process of its own with the flags of an owner: V8's other young generation alone takes 100 MB that no run holds.
    spawnSync(process.execPath, [...OWNER_FLAGS, import.meta.filename, "waiting"], { stdio: "inherit" });
    await throughput(dir);
    await resume(dir);
    await idle(dir);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
