/** `cleared check [PATHS...]`: all checks on the edits of the work tree (or the index) laid over HEAD, and what they would do. */
import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import { warmCompiler } from "../../change/checks/compiler.ts";
import type { CheckFinding, CheckResult } from "../../change/checks/findings.ts";
import type { CheckedTree } from "../../app/check-api.ts";
import { withAnyApi } from "../../app/connect.ts";
import type { Command } from "../invocation.ts";
import { type Output, formatError, table } from "../output.ts";
import { socketPath } from "../../app/socket.ts";
import { changesHere } from "../../app/work-tree.ts";

export const run: Command = async ({ output, dir }, given, options) => {
  const staged = options["staged"] === true;
  // Without an owner the checks run in this process: the compiler starts while the rest is read.
  if (!existsSync(socketPath(dir))) warmCompiler();
  const changes = await changesHere(dir, staged);
  const words = given.map((path) => relative(dir, resolve(path)).replaceAll("\\", "/"));
  if (changes.trust) output.note("trust.yaml differs from HEAD: it is not checked here; `cleared trust` shows it to a person.");
  for (const path of changes.odd)
    output.note(`${path} is a link, too large or no regular file: it is not checked, and cannot be proposed.`);
  if (staged && changes.files.size === 0) {
    output.result({ on: null, agents: [], checks: [], dryRun: [], changed: [] });
    output.line("Nothing is staged that could be checked.");
    return 0;
  }
  const checked = await withAnyApi(dir, (api) =>
    api.check({ files: Object.fromEntries(changes.files), all: options["all"] === true, ...(words.length === 0 ? {} : { only: words }) }),
  );
  const changed = [...changes.files.keys()].sort();
  output.result({ ...checked, changed });
  const others = changed.filter((path) => !checked.paths.includes(path));
  if (words.length > 0)
    output.line(
      `With the files as they are in the ${staged ? "index" : "working tree"}${others.length === 0 ? "" : `, edits of ${others.join(", ")} among them`}.`,
    );
  print(output, checked, changed.length === 0 && words.length === 0 ? [] : checked.paths, dir);
  return checked.checks.some(({ status }) => status === "failed") ? 1 : 0;
};

function print(output: Output, { checks, agents, dryRun }: CheckedTree, changed: readonly string[], dir: string): void {
  const what = changed.length === 0 ? "nothing has changed against HEAD" : changed.join(", ");
  output.line(`${what}; ${agents.length === 0 ? "no agent is affected" : agents.join(", ")}`);
  output.lines(checkLines(output, checks));
  for (const { agent, lines } of dryRun) {
    output.line(`${output.bold(agent)}  would, dry run`);
    for (const line of lines) output.line(`  ${line}`);
  }
  for (const finding of checks.flatMap(({ findings }) => findings)) {
    output.line();
    output.text(findingText(finding, dir));
  }
}

/** One line per check: its name, result, and what it covered. */
function checkLines(output: Output, checks: readonly CheckResult[]): string[] {
  const words = { ok: output.green("ok"), failed: output.red("failed"), skipped: output.yellow("skipped") };
  return table(
    checks.map(({ check, status, says, findings }) => [
      `  ${check.replace("_", " ")}`,
      words[status],
      status === "failed" ? `${findings.length} finding${findings.length === 1 ? "" : "s"}` : says,
    ]),
  );
}

/** The house form; remarks are marked, because they do not fail the check. */
function findingText(finding: CheckFinding, dir: string): string {
  const { code, at, message, remark } = finding;
  return `${remark === true ? "remark: " : ""}${formatError({ code, at, message }, dir)}`;
}
