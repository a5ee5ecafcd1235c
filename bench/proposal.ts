/**
 * A proposal over 100,000 entries of history: a workspace with ten imports of 10,000 rows, an edited rule of the starter ingest, and the time
 * and memory until its card is ready, in a command of its own: checks, dry run, widening, and a backtest that books every changed row anew.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Proposal } from "../runtime/change/proposal-types.ts";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { CLEARED, CLEARED_ENV, cpuOfEnded, family, memoryOf, statement } from "./measure.ts";

const STATEMENTS = 10;
const ROWS = 10_000;
const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));

/** What the command answers, how long it takes, and the most memory that it and its children hold at one time. */
async function cleared(dir: string, ...args: string[]): Promise<{ ms: number; cpuMs: number; MB: number; out: string }> {
  const [started, before] = [performance.now(), cpuOfEnded()];
  const child = spawn(CLEARED[0] ?? "", [...CLEARED.slice(1), ...args, "--json", "--dir", dir], {
    stdio: ["ignore", "pipe", "pipe"],
    env: CLEARED_ENV,
  });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (said.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (said.err += text));
  let MB = 0;
  // Looking costs the kernel a walk over all pages of the process: not so often that it is measured itself.
  const looking = setInterval(() => void (MB = Math.max(MB, memoryOf(family(child.pid ?? 0)))), 400);
  const status = await new Promise((resolve) => child.on("close", resolve));
  clearInterval(looking);
  if (status !== 0) throw new Error(`cleared ${args.join(" ")} ended with ${String(status)}: ${(said.err + said.out).slice(-2000)}`);
  return { ms: performance.now() - started, cpuMs: cpuOfEnded() - before, MB, out: said.out };
}

try {
  const dir = join(folder, "books");
  await initWorkspace(dir, { name: "Bench", from: join(import.meta.dirname, ".."), person: "Bench" });
  for (let n = 0; n < STATEMENTS; n++) {
    const csv = join(folder, `statement-${n}.csv`);
    // Each of a year of its own.
    writeFileSync(csv, statement(ROWS).replaceAll("/2025,", `/${2015 + n},`));
    await cleared(dir, "import", csv);
  }
  const agent = join(dir, "agents/ingest.ts");
  for (const [what, from, to] of [
    ["a rewrite that does the same", "let review = 0;", "let review: number = 0;"],
    ["a rule for one vendor in seven", '"AMZN", account: 5030', '"AMZN", account: 5020'],
  ] as const) {
    writeFileSync(agent, readFileSync(agent, "utf8").replace(from, to));
    const { ms, cpuMs, MB, out } = await cleared(dir, "propose", "-m", what);
    const { proposal } = JSON.parse(out) as { proposal: Proposal };
    const { runs, counts, moves } = proposal.report?.backtests[0] ?? { runs: 0, counts: {}, moves: [] };
    const moved = moves.reduce((sum, { entries }) => sum + entries, 0);
    console.log(
      `${what}: card ${proposal.state} after ${(ms / 1000).toFixed(1)} s (target 10), ${(cpuMs / 1000).toFixed(1)} s of CPU, ${MB.toFixed(0)} MB (target 400), ${(JSON.stringify(proposal.report).length / 1024).toFixed(0)} kB of report; ${runs} runs, ${JSON.stringify(counts)}, ${moved} entries change`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
