/**
 * The ratchet over 1,000 cases, each an import of 20 rows with all its effects: a rewrite that makes the same calls, as most proposals do for
 * most cases; and over 100 one that books rows elsewhere, so that each is executed anew and asked of the code before. First with nothing read before, then warm. Also whether memory grows with their number.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createApi } from "../runtime/app/api.ts";
import { caseOfRun } from "../runtime/app/evidence-api.ts";
import type { Host } from "../runtime/app/host.ts";
import { openHost } from "../runtime/app/open-host.ts";
import { casesIn, ratchet } from "../runtime/change/evidence/cases.ts";
import { codeOver } from "../runtime/change/evidence/code.ts";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { cpuOf, family, median, memoryOf, spread, statement } from "./measure.ts";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));
const dir = join(folder, "cleared");
const CASES = 1000;

/** One real import as a case, and as many more of the same under other names. */
async function freeze(host: Host): Promise<void> {
  const file = join(folder, "chase-1.csv");
  writeFileSync(file, statement(20));
  const { runs } = await createApi(host).import({ files: [file], dryRun: false, again: false });
  const one = await caseOfRun(host, { run: runs[0] ?? "", why: "It is right." });
  for (let n = 0; n < CASES; n++) {
    const path = join(dir, one.file.replace(runs[0] ?? "", `case_${n}`));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, one.text);
  }
  spawnSync("git", ["-C", dir, "add", "."]);
  spawnSync("git", ["-C", dir, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "bench: cases"]);
  console.log(`a case has ${(one.text.length / 1024).toFixed(1)} kB`);
}

async function measure(
  host: Host,
  what: string,
  change: (text: string) => string,
  { expected, cases }: { expected: "passed" | "failed"; cases: number },
): Promise<void> {
  const tree = host.git.tree(await host.git.head());
  const code = codeOver(tree, new Map([["agents/ingest.ts", change((await tree.read("agents/ingest.ts")) ?? "")]]));
  const paths = (await casesIn(tree)).slice(0, cases);
  const of = async (some: readonly string[]): Promise<number> => {
    const started = performance.now();
    const tried = await ratchet({ tree, changed: [] }, code, some, host);
    const count = expected === "passed" ? tried.passed : tried.failed.length;
    if (count !== some.length) throw new Error(`${what}: ${JSON.stringify(tried.results[0])}`);
    return (performance.now() - started) / 1000;
  };
  const first = await of(paths);
  await of(paths.slice(0, cases / 5));
  const few = memoryOf(family(process.pid));
  const took: number[] = [];
  const used = cpuOf(family(process.pid));
  for (let round = 0; round < 5; round++) took.push(await of(paths));
  const cpu = (cpuOf(family(process.pid)) - used) / (5 * paths.length);
  const many = memoryOf(family(process.pid));
  console.log(
    `${paths.length} cases, ${what}: ${median(took).toFixed(2)} s (${spread(took, 2)}${cases === CASES ? "; target 5" : ""}), the first time ${first.toFixed(1)} s, ${cpu.toFixed(1)} ms CPU a case; ${few.toFixed(0)} MB after ${cases / 5} and ${many.toFixed(0)} MB after ${5 * paths.length} more`,
  );
}

try {
  await initWorkspace(dir, { name: "Bench", from: root, person: "Bench" });
  const host = await openHost(dir, { mode: "owner" });
  try {
    await freeze(host);
    await measure(host, "the same calls", (text) => `${text}// reviewed\n`, { expected: "passed", cases: CASES });
    await measure(host, "every row elsewhere", (text) => text.replaceAll("5030", "5090"), { expected: "failed", cases: CASES / 10 });
  } finally {
    await host.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
