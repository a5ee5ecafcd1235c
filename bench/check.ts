/**
 * How long `cleared check` takes for one changed script: the first time as a command of its own, and warm as the owner of a workspace answers
 * it, where the parsers, the type checker and the sandbox are kept. Each turn changes the script, so that nothing is answered from a cache.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { checkFiles } from "../runtime/app/check-api.ts";
import { openHost } from "../runtime/app/open-host.ts";
import { CLEARED, median, spread } from "./measure.ts";

const FIRST = 5;
const WARM = 20;
const TARGETS = { first: 700, warm: 60 };
const AGENTS = ["ingest", "invoice_reconciliation"];

const [program = "", ...args] = CLEARED;
const root = mkdtempSync(join(tmpdir(), "cleared-bench-check-"));
const dir = join(root, "w");
try {
  spawnSync(program, [...args, "init", dir, "--person", "Pat"], { stdio: "inherit" });
  spawnSync(program, [...args, "add", ...AGENTS.slice(1), "--dir", dir], { stdio: "inherit" });
  for (const words of [
    ["add", "-A"],
    ["commit", "-qm", "agents: for the bench"],
  ])
    spawnSync("git", ["-C", dir, ...words]);
  const first: number[] = [];
  for (let round = 0; round < FIRST; round++) {
    const file = join(dir, "agents/ingest.ts");
    writeFileSync(file, `${readFileSync(file, "utf8")}\n// ${round}\n`);
    // As after an installation: nothing is compiled yet.
    rmSync(join(dir, ".cleared/cache"), { recursive: true, force: true });
    const began = performance.now();
    spawnSync(program, [...args, "check", "--dir", dir]);
    first.push(performance.now() - began);
  }
  console.log(`check, first: median ${median(first).toFixed(0)} ms, ${spread(first, 0)} (target ${TARGETS.first})`);
  const host = await openHost(dir, { mode: "owner" });
  try {
    for (const agent of AGENTS) {
      const path = `agents/${agent}.ts`;
      const text = readFileSync(join(dir, path), "utf8");
      const warm: number[] = [];
      for (let round = 0; round <= WARM; round++) {
        const began = performance.now();
        const { checks } = await checkFiles(host, { files: { [path]: `${text}\n// round ${round}\n` }, all: false });
        if (checks.some(({ status }) => status === "failed")) throw new Error(`${agent} fails its checks`);
        // The first one starts what the others find.
        if (round > 0) warm.push(performance.now() - began);
      }
      console.log(`check, warm, ${agent}: median ${median(warm).toFixed(1)} ms, ${spread(warm)} (target ${TARGETS.warm})`);
    }
  } finally {
    await host.close();
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
console.log(
  `load ${loadavg()
    .map((value) => value.toFixed(1))
    .join(" ")}`,
);
