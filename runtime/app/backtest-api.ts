/** `cleared backtest` on a host: an agent's files as they lie in the work tree, or as a commit has them, against those of HEAD. */
import { ClearedError, didYouMean } from "../kernel/errors.ts";
import { backtest } from "../change/evidence/backtest.ts";
import { codeOver } from "../change/evidence/reached.ts";
import type { BacktestReport, Code, Which } from "../change/evidence/types.ts";
import { AGENTS, agentFile } from "../workspace/layout.ts";
import { tryGit } from "../workspace/git/git-process.ts";
import { withRecordings } from "./check-api.ts";
import type { Host } from "./host.ts";
import { workChanges } from "./work-tree.ts";

export interface Backtesting {
  agent: string;
  /** A revision whose agents/ and scripts/ are tried; null for everything that a proposal could change, as it lies in the work tree. */
  at: string | null;
  which: Which;
}

/** @throws AGENT_UNKNOWN, USAGE, RUN_UNKNOWN */
export async function backtestAgent(host: Host, { agent, at, which }: Backtesting): Promise<BacktestReport> {
  const head = host.git.tree(await host.git.head());
  const { name, ...code } =
    at === null ? { ...codeOver(head, (await workChanges(host.dir, head)).files), name: "the work tree" } : await codeAt(host, at);
  if ((await code.tree.blob(agentFile(agent))) === null) {
    const known = (await code.tree.list(AGENTS)).map(({ path }) => path.slice(AGENTS.length).replace(/\.ts$/, ""));
    throw new ClearedError("AGENT_UNKNOWN", `There is no agent "${agent.slice(0, 80)}" in ${name}.${didYouMean(agent, known)}`);
  }
  return withRecordings(host, (bench) => backtest(agent, code, { tree: head, changed: [] }, which, bench, { name }));
}

/** @throws USAGE */
async function codeAt({ dir, git }: Host, at: string): Promise<Code & { name: string }> {
  const found = await tryGit(dir, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${at}^{commit}`]);
  if (found.status !== 0) throw new ClearedError("USAGE", `"${at}" is not a commit of this repository. Name one that \`git log\` shows.`);
  const commit = found.stdout.toString().trim();
  return { tree: git.tree(commit), changed: [], name: commit.slice(0, 7) };
}
