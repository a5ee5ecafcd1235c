/** `cleared proposals`: list, show, diff, withdraw, check, sync. */
import { relative, resolve } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import { namedUpTo } from "../../kernel/text.ts";
import type { Api } from "../../app/api.ts";
import { withApi } from "../../app/connect.ts";
import { deciderHere, starterHere } from "../../app/identity.ts";
import type { Command } from "../invocation.ts";
import type { Output } from "../output.ts";
import { atWork, withProgress } from "../progress.ts";
import type { RunLines } from "../../app/proposals-api.ts";
import { proposalLines, proposalRow } from "../proposal-lines.ts";
import { textsOf } from "../text.ts";

interface Act {
  output: Output;
  dir: string;
  api: Api;
  /** Number or id of a proposal; for sync the remote. */
  name: string | undefined;
  options: Record<string, unknown>;
}

export const run: Command = async ({ output, dir }, [verb = "list", name], options) => {
  const act = VERBS[verb as keyof typeof VERBS];
  return withApi(dir, (api) => act({ output, dir, api, name, options }));
};

const VERBS = {
  async list({ output, api }) {
    const { proposals, unreadable } = await api.proposals();
    output.result({ proposals, unreadable });
    const now = Date.now();
    output.rows(proposals.map((one) => proposalRow(output, one, now)));
    for (const { id, why } of unreadable) output.line(`${id.slice(0, 40)}  unreadable: ${why}`);
    if (proposals.length + unreadable.length === 0) output.line("No proposals yet. Edit an agent, then `cleared propose -m TITLE`.");
    return 0;
  },
  async show({ output, api, name, options }) {
    const shown = await api.proposal({ id: idOf(name) });
    const runs: RunLines[] = [];
    output.lines(proposalLines(output, shown, options["details"] === true));
    for (const { agent } of options["all"] === true ? (shown.proposal.report?.backtests ?? []) : []) {
      output.line(output.bold(`  every recorded run of ${agent} that would change:`));
      for (let from: number | null = 0; from !== null; ) {
        const at: number = from;
        const found = await withProgress(api, () => api.differences({ id: idOf(name), agent, from: at }));
        for (const { run, class: kind, why } of found.runs)
          output.lines([`  ${run} ${kind.replace("_", " ")}`, ...why.map((one) => `    ${one}`)]);
        // Only for --json; otherwise printed output is not accumulated.
        if (output.json) runs.push(...found.runs);
        from = found.next;
      }
    }
    output.result(options["all"] === true ? { ...shown, runs } : shown);
    return 0;
  },
  async diff({ output, api, name }) {
    const patch = await api.patch({ id: idOf(name) });
    output.result({ patch });
    for (const line of patch.trimEnd().split("\n")) output.line(painted(output, line));
    return 0;
  },
  async withdraw({ output, api, dir, name, options }) {
    const by = deciderHere(dir);
    const shown = await api.withdraw({ id: idOf(name), by, reason: String(options["reason"] ?? "") });
    output.result(shown);
    const { number, commit } = shown.proposal;
    output.line(`Proposal ${number} is withdrawn. To have its change back as an edit: git cherry-pick --no-commit ${commit.slice(0, 12)}`);
    return 0;
  },
  async check({ output, api, name }) {
    const shown = await withProgress(api, () => api.checkProposal({ id: idOf(name) }));
    output.result(shown);
    output.lines(proposalLines(output, shown));
    return shown.proposal.state === "blocked" ? 1 : 0;
  },
  async sync({ output, api, name }) {
    const synced = await api.syncProposals({ remote: name ?? "origin" });
    output.result(synced);
    const { fetched, pushed, joined, refused, told } = synced;
    output.line(`${name ?? "origin"}: ${fetched} fetched, ${pushed} pushed, ${joined} joined`);
    for (const line of told) output.line(`  ${line}`);
    for (const { id, why } of refused) output.line(`  ${id.slice(0, 40)} is left alone: ${why}`);
    return 0;
  },
} satisfies Record<string, (act: Act) => Promise<number>>;

/** @throws USAGE */
function idOf(name: string | undefined): string | number {
  if (name === undefined) throw new ClearedError("USAGE", "Name a proposal by its number; `cleared proposals` lists them.");
  return /^\d{1,9}$/.test(name) ? Number(name) : name;
}

function painted(output: Output, line: string): string {
  if (/^(?:diff |index |--- |\+\+\+ )/.test(line)) return output.dim(line);
  if (line.startsWith("+")) return output.green(line);
  return line.startsWith("-") ? output.red(line) : line;
}

/** `cleared propose`: makes a proposal of edits here, of a branch, or of a folder. */
export const propose: Command = async ({ output, dir }, paths, options) => {
  const { message = "", from, ...rest } = textsOf(options, "message", "reason", "from", "branch", "despite");
  const title = message.replace(/\s+/g, " ").trim();
  if (title === "") throw new ClearedError("USAGE", "Say in one line what changes: `cleared propose -m TITLE`.");
  if (title.length > 200) throw new ClearedError("USAGE", "A title has at most 200 characters; --reason takes the rest.");
  const made = await atWork(withApi, dir, (api) =>
    api.propose({
      ...{ title, reason: "", ...rest },
      paths: paths.map((path) => inWorkspace(dir, path)),
      ...starterHere(dir),
      ...(from === undefined ? {} : { from: resolve(from) }),
    }),
  );
  output.result(made);
  if (made.known) output.line(output.dim("This is already proposed:"));
  output.lines(proposalLines(output, made));
  if (made.kept.length > 0)
    output.line(`  ${made.kept.join(", ")}: edited again in the meantime; that edit is still in the file and not in the proposal.`);
  if (made.left.length > 0) output.line(output.dim(`  left as edited: ${namedUpTo(made.left, 8)}`));
  return made.proposal.state === "blocked" ? 1 : 0;
};

/** Path of a file relative to the workspace. @throws USAGE */
function inWorkspace(dir: string, path: string): string {
  const inside = relative(dir, resolve(path));
  if (inside.startsWith("..")) throw new ClearedError("USAGE", `"${path}" is not in the workspace ${dir}.`);
  return inside;
}
