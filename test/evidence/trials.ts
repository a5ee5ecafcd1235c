/** What the tests of trials share: files laid over HEAD as the code to try, and a report without the ids that differ from run to run. */
import type { Host } from "../../runtime/app/host.ts";
import { backtest } from "../../runtime/change/evidence/backtest.ts";
import { codeOver } from "../../runtime/change/evidence/code.ts";
import type { BacktestReport, RunDifference, Which } from "../../runtime/change/evidence/types.ts";
import { backtestLines } from "../../runtime/change/evidence/words.ts";

export const header = (uses: string, more = "") => `/*\nname: Test\nuses: [${uses}]\n${more}*/\n`;

/** The report on an agent when these files are laid over HEAD. */
export async function tried(
  opened: Host,
  agent: string,
  files: Record<string, string | null>,
  which: Which = { all: true },
): Promise<BacktestReport> {
  const head = opened.git.tree(await opened.git.head());
  return backtest(agent, codeOver(head, new Map(Object.entries(files))), { tree: head, changed: [] }, which, opened, { name: "tried" });
}

/** What becomes of the agent's only recorded run; "same" alone when nothing does. */
export async function only(opened: Host, agent: string, files: Record<string, string | null>): Promise<RunDifference | "same"> {
  const report = await tried(opened, agent, files);
  if (report.runs !== 1) throw new Error(`${agent} has ${report.runs} recorded runs`);
  return report.differences[0] ?? "same";
}

export const lines = (report: BacktestReport): string[] => backtestLines(report).map((line) => line.replaceAll(/run_[0-9A-Z]{14}/g, "RUN"));
