/** Trials on recorded runs, on a host: `cleared backtest` (files of the work tree, or of a commit, against HEAD), `bisect`, and `cases`. */
import { createHash } from "node:crypto";
import { ClearedError, didYouMean } from "../kernel/errors.ts";
import { backtest, idsOf } from "../change/evidence/backtest.ts";
import { codeOver } from "../change/evidence/code.ts";
import type { BacktestReport, Which } from "../change/evidence/types.ts";
import { AGENTS, agentFile, agentOf, caseFile } from "../workspace/layout.ts";
import { withRecordings } from "./check-api.ts";
import type { Host } from "./host.ts";
import { needRun } from "./look.ts";
import { commitOf } from "./move-run.ts";
import { workChanges } from "./work-tree.ts";
import { type Bisection, bisect } from "../change/evidence/bisect.ts";
import { callableIn } from "../engine/script.ts";
import { unfit, caseText } from "../change/evidence/case-file.ts";
import { caseName, casesIn, ratchet } from "../change/evidence/cases.ts";
import { caseOf, recordingFor } from "../change/evidence/freeze.ts";
import { effectsOf } from "../change/evidence/effects.ts";
import { allOf } from "../change/evidence/kept.ts";

export interface Backtesting {
  agent: string;
  /** A revision whose agents/ and scripts/ are tried; null for everything in the work tree that a proposal could change. */
  at: string | null;
  which: Which;
  /** Models are asked questions without a recorded answer, for at most this many US dollars. */
  budget?: string;
}

/** @throws AGENT_UNKNOWN, USAGE, RUN_UNKNOWN */
export async function backtestAgent(host: Host, { agent, at, which, budget }: Backtesting): Promise<BacktestReport> {
  const head = host.git.tree(await host.git.head());
  const commit = at === null ? null : await commitOf(host.dir, at);
  const name = commit?.slice(0, 7) ?? "the work tree";
  const code = commit === null ? codeOver(head, (await workChanges(host.dir, head)).files) : { tree: host.git.tree(commit), changed: [] };
  if ((await code.tree.blob(agentFile(agent))) === null) {
    const known = (await code.tree.list(AGENTS)).map(({ path }) => agentOf(path));
    throw new ClearedError("AGENT_UNKNOWN", `There is no agent "${agent.slice(0, 80)}" in ${name}.${didYouMean(agent, known)}`);
  }
  const anew = budget === undefined ? null : await (await import("./asked-anew.ts")).createAskAnew(host, { budget });
  return withRecordings(host, async (bench) => {
    const base = { tree: head, changed: [] };
    if (anew === null) return backtest(agent, code, base, which, bench, { name });
    // What the budget covers must represent all of them.
    const runs = await sampled(await idsOf(agent, which, bench), host);
    const report = await backtest(agent, code, base, { runs }, { ...bench, ask: anew.ask }, { name });
    return { ...report, days: "days" in which ? which.days : null, asked: await anew.report() };
  });
}

/**
 * One run of each kind of end, then from each kind in proportion, so that the runs tried represent all; within a kind by hash of the id.
 * Unreadable runs are left to the reader.
 */
async function sampled(ids: readonly string[], { engine }: Host): Promise<string[]> {
  const runs = await Promise.all(ids.map(async (id) => ({ id, run: await engine.get(id) })));
  const order = (id: string) => createHash("sha256").update(id).digest("hex");
  runs.sort((a, b) => (order(a.id) < order(b.id) ? -1 : 1));
  const ends = Map.groupBy(runs, ({ run }) => `${run?.status} ${run?.outcome} ${run?.error?.code}`);
  const nth = [...ends.values()].flatMap((some) => some.map(({ id }, n) => ({ id, at: n / some.length })));
  return nth.sort((a, b) => a.at - b.at).map(({ id }) => id);
}

export interface Bisected extends Bisection {
  /** The proposal that the commit applied, with its number if this workspace has its card. */
  proposal: { id: string; number: number | null } | null;
}

/** @throws RUN_UNKNOWN, RUN_STATUS, JOURNAL_ENTRY_MISSING, USAGE */
export async function bisectRun(host: Host, name: string): Promise<Bisected> {
  const { progress } = host;
  return withRecordings(host, async (bench) => {
    try {
      const found = await bisect(name, bench, (done, total) => void (progress.tried = { done, total }));
      const id = found.verdict === "found" ? found.commits[0]?.trailers["Proposal"] : undefined;
      const card = bench.cards.list({ kind: "proposal" }).find(({ body }) => (body as { proposal?: string }).proposal === id);
      return { ...found, proposal: id === undefined ? null : { id, number: card?.id ?? null } };
    } finally {
      delete progress.tried;
    }
  });
}

/** Tries cases, all by default. `odd`: links, and files larger than a proposal may hold; these are not tried. @throws CASE_UNKNOWN */
export async function tryCases(host: Host, names: readonly string[]) {
  const head = host.git.tree(await host.git.head());
  const { files, odd } = await workChanges(host.dir, head);
  const code = codeOver(head, files);
  const paths = pickCases(await casesIn(code.tree), names);
  const progress = () => void host.progress.calls++;
  const tried = await withRecordings(host, (bench) => ratchet({ tree: head, changed: [] }, code, paths, bench, progress));
  return { ...tried, total: paths.length, odd: odd.filter((path) => path.startsWith("cases/")) };
}

/** The paths selected by name, path or run. @throws CASE_UNKNOWN */
export function pickCases(paths: readonly string[], names: readonly string[]): string[] {
  if (names.length === 0) return [...paths];
  return names.flatMap((name) => {
    const found = paths.filter((path) => path === name || caseName(path) === name || path.endsWith(`/${name}.yaml`));
    if (found.length > 0) return found;
    throw new ClearedError(
      "CASE_UNKNOWN",
      `There is no case "${name.slice(0, 80)}".${didYouMean(name, paths.map(caseName))} \`cleared cases\` lists them.`,
    );
  });
}

/** The case of a recorded run: what it booked, called and returned must be reproduced. @throws RUN_UNKNOWN, CASE_IMPOSSIBLE */
export async function caseOfRun(host: Host, { run: id, why }: { run: string; why: string }): Promise<{ file: string; text: string }> {
  return withRecordings(host, async (bench) => {
    await needRun(bench.engine, id);
    const recording = await recordingFor(bench, id);
    const refuse = (reason: string) => new ClearedError("CASE_IMPOSSIBLE", `No case can be made from ${id.slice(0, 40)}: ${reason}.`);
    if ("why" in recording) throw refuse(recording.why);
    const { run, steps } = recording;
    const file = caseFile(run.agent, run.id);
    if ((await host.git.tree(await host.git.head()).read(file)) !== null) throw refuse(`it has one, ${file}`);
    const expect = await effectsOf(run, steps, callableIn(host.world, await host.script(run)));
    const text = caseText(caseOf(recording, { why, keeps: allOf(expect) }));
    const fault = unfit(text, file);
    if (fault !== null) throw refuse(fault);
    return { file, text };
  });
}
