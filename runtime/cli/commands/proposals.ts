/** `cleared proposals`: list, show, diff, withdraw, check, sync. */
import { ClearedError } from "../../kernel/errors.ts";
import type { Api } from "../../app/api.ts";
import { withApi } from "../../app/connect.ts";
import { starterHere } from "../../app/identity.ts";
import type { Command } from "../invocation.ts";
import type { Output } from "../output.ts";
import { withProgress } from "../progress.ts";
import type { RunLines } from "../../app/proposals-api.ts";
import { proposalLines, proposalRow } from "../proposal-lines.ts";

interface Act {
  output: Output;
  dir: string;
  api: Api;
  /** Number or id of a proposal; for sync the remote. */
  name: string | undefined;
  options: Record<string, unknown>;
}

export const run: Command = async (at, [verb = "list", name], options) => {
  const dir = at.workspace();
  const act = VERBS[verb as keyof typeof VERBS];
  return withApi(dir, (api) => act({ output: at.output, dir, api, name: name as string | undefined, options }));
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
        const found = await withProgress(api, null, () => api.differences({ id: idOf(name), agent, from: at }));
        for (const { run, class: kind, why } of found.runs)
          output.lines([`  ${run} ${kind.replace("_", " ")}`, ...why.map((one) => `    ${one}`)]);
        // For --json alone: otherwise nothing is kept of what was printed.
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
    const by = starterHere(dir);
    const shown = await api.withdraw({ id: idOf(name), reason: String(options["reason"] ?? ""), ...by });
    output.result(shown);
    output.line(`Proposal ${shown.proposal.number} is withdrawn.`);
    return 0;
  },
  async check({ output, api, name }) {
    const shown = await withProgress(api, null, () => api.checkProposal({ id: idOf(name) }));
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
