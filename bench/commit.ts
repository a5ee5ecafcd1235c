/**
 * What one run's commit of two files costs in a workspace with 5,000 files, at 1,000 and at 20,000 commits of history.
 * The repositories are made with fast-import in a temp folder; both are measured in turns, so that load hits them alike.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { git as runGit } from "../runtime/workspace/git/git-process.ts";
import { createGit } from "../runtime/workspace/git/git.ts";

const FILES = 5000;
const ROUNDS = 40;
const TARGET_MS = 40;

async function build(commits: number): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), "cleared-bench-"));
  await runGit(dir, ["init", "-q", "-b", "main"]);
  const child = spawn("git", ["fast-import", "--quiet", "--date-format=raw"], { cwd: dir, stdio: ["pipe", "inherit", "inherit"] });
  const head = (n: number) => `commit refs/heads/main\ncommitter Bench <bench@localhost> ${1_700_000_000 + n} +0000\ndata 6\ncommit\n`;
  const file = (n: number) => `M 100644 inline data/${n % 100}/file-${n}.txt\ndata 20\n${String(n).padStart(19, "0")}\n\n`;
  child.stdin.write(
    `${head(0) + Array.from({ length: FILES }, (_, n) => file(n)).join("")}M 100644 inline .gitignore\ndata 10\n.cleared/\n\n`,
  );
  for (let n = 1; n < commits; n++) {
    const more = child.stdin.write(`${head(n)}M 100644 inline journal/2026/01.journal\ndata 20\n${String(n).padStart(19, "0")}\n\n`);
    if (!more) await once(child.stdin, "drain");
  }
  child.stdin.end();
  await once(child, "close");
  await runGit(dir, ["reset", "-q", "--hard"]);
  return dir;
}

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const spread = (values: number[]): string => `${Math.min(...values).toFixed(0)}-${Math.max(...values).toFixed(0)}`;

const cases = [];
for (const commits of [1000, 20_000]) {
  const dir = await build(commits);
  cases.push({ commits, dir, git: await createGit(dir, { branch: () => "main" }), times: [] as number[] });
}
for (let round = 0; round < ROUNDS + 3; round++) {
  for (const one of cases) {
    const started = performance.now();
    const end = await one.git.commit({
      message: "import: bench",
      trailers: { Run: `run_${round}`, Step: "1" },
      build: async (tree) =>
        new Map([
          ["journal/2026/01.journal", `${await tree.read("journal/2026/01.journal")}line ${round}\n`],
          [`import/receipts/${round}.yaml`, `round: ${round}\n`],
        ]),
    });
    if (end.status !== "committed") throw new Error(`round ${round}: ${JSON.stringify(end)}`);
    // The first rounds start the kept-open commands.
    if (round >= 3) one.times.push(performance.now() - started);
  }
}
for (const { commits, times } of cases)
  console.log(
    `commit of 2 files, ${FILES} files, ${commits} commits: median ${median(times).toFixed(1)} ms, ${spread(times)} ms (target ${TARGET_MS})`,
  );
const [short, long] = cases;
if (short !== undefined && long !== undefined) {
  console.log(`20,000 commits against 1,000: x${(median(long.times) / median(short.times)).toFixed(2)}`);
  const started = performance.now();
  await long.git.find("run_5", 1, await long.git.head());
  console.log(`find by trailer: ${(performance.now() - started).toFixed(1)} ms`);
}
console.log(
  `load ${loadavg()
    .map((value) => value.toFixed(1))
    .join(" ")}`,
);
for (const one of cases) {
  await one.git.close();
  rmSync(one.dir, { recursive: true, force: true });
}
