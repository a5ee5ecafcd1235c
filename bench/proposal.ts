/**
 * A proposal over 100,000 entries of history: a workspace with ten imports of 10,000 rows, an edited rule of the starter ingest, and the time
 * until its card is ready, in a command of its own: checks, dry run, widening, and a backtest that books every changed row anew.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Proposal } from "../runtime/proposals/types.ts";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { CLEARED, statement } from "./measure.ts";

const STATEMENTS = 10;
const ROWS = 10_000;
const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));

function cleared(dir: string, ...args: string[]): { ms: number; out: string } {
  const started = performance.now();
  const done = spawnSync(CLEARED[0] ?? "", [...CLEARED.slice(1), ...args, "--json", "--dir", dir], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (done.status !== 0)
    throw new Error(`cleared ${args.join(" ")} ended with ${done.status}: ${(done.stderr + done.stdout).slice(0, 2000)}`);
  return { ms: performance.now() - started, out: done.stdout };
}

try {
  const dir = join(folder, "books");
  await initWorkspace(dir, { name: "Bench", from: join(import.meta.dirname, ".."), person: "Bench" });
  for (let n = 0; n < STATEMENTS; n++) {
    const csv = join(folder, `statement-${n}.csv`);
    // Each of a year of its own.
    writeFileSync(csv, statement(ROWS).replaceAll("/2025,", `/${2015 + n},`));
    cleared(dir, "import", csv);
  }
  const agent = join(dir, "agents/ingest.ts");
  for (const [what, from, to] of [
    ["a rewrite that does the same", "let review = 0;", "let review: number = 0;"],
    ["a rule for one vendor in seven", '"AMZN", account: 5030', '"AMZN", account: 5020'],
  ] as const) {
    writeFileSync(agent, readFileSync(agent, "utf8").replace(from, to));
    const { ms, out } = cleared(dir, "propose", "-m", what);
    const { proposal } = JSON.parse(out) as { proposal: Proposal };
    const { runs, counts, moves } = proposal.report?.backtests[0] ?? { runs: 0, counts: {}, moves: [] };
    const moved = moves.reduce((sum, { entries }) => sum + entries, 0);
    console.log(
      `${what}: card ${proposal.state} after ${(ms / 1000).toFixed(1)} s (target 10); ${runs} runs, ${JSON.stringify(counts)}, ${moved} entries change`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
