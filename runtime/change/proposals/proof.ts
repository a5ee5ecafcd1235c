/**
 * The worth of a report: what it depends on, whether another may replace it, and what no recorded run proves. A report is replaced only by one
 * with at least as much evidence; evidence about runs that are not in this clone stays in it, and counts while a person vouches for it.
 */
import { onCode } from "../../kernel/errors.ts";
import { count } from "../../kernel/text.ts";
import { canonicalHash, canonicalJson } from "../../kernel/canonical.ts";
import { isVerified } from "../../engine/signature.ts";
import { codeOf } from "../evidence/code.ts";
import type { BacktestReport } from "../evidence/types.ts";
import type { Decision, Engine, Git, Tree } from "../../kernel/ports.ts";
import type { Trust } from "../../workspace/settings/config.ts";
import { AUDIT, DATA, IMPORT, agentFile } from "../../workspace/layout.ts";
import { commitsSaying } from "../../workspace/git/past.ts";
import type { Proposal, Report } from "../proposal-types.ts";

/** Folders that runs write and no check reads. */
const UNREAD = [IMPORT, DATA, AUDIT];
// More runs than this between two checks occur only in a workspace that makes a new report anyway.
const RUNS = 200;

/** What a report depends on in addition to the commit: people, and the recorded and waiting runs of its agents. */
export async function restsOn(
  { trust, engine }: { trust: Trust; engine: Pick<Engine, "list"> },
  agents: readonly string[],
): Promise<NonNullable<Report["rests"]>> {
  const runs = [];
  for (const agent of agents)
    for (const status of [["done", "failed"], ["waiting"]] as const)
      runs.push((await engine.list({ agent, status: [...status], limit: RUNS })).map(({ id, status: is, outcome }) => [id, is, outcome]));
  return { people: canonicalHash([trust.people, trust.changes]), runs: canonicalHash(runs) };
}

/** True if anything that a report depends on has changed: code, cases, policies and books at HEAD, people, runs. */
export async function hasMoved(
  world: { git: Pick<Git, "objects">; trust: Trust; engine: Pick<Engine, "list"> },
  { on, rests, backtests }: Report,
  head: string,
): Promise<boolean> {
  const agents = backtests.map(({ agent }) => agent);
  const now = await restsOn(world, agents);
  if (rests !== undefined && canonicalJson(rests) !== canonicalJson(now)) return true;
  // The repository may lack the commit of a report that was made in another clone.
  const changes = on === head ? [] : (await world.git.objects.commit(on)) && (await world.git.objects.changes(on, head));
  return changes === null || changes.some(({ path }) => !UNREAD.some((folder) => path.startsWith(folder)));
}

/** What a person who has the recorded runs signs: one backtest of this content on this code. */
async function evidenceGate({ id, commit }: Pick<Proposal, "id" | "commit">, base: Tree, backtest: BacktestReport): Promise<string> {
  return `evidence/${id}/${canonicalHash({ commit, code: [...(await codeOf(base))], backtest })}`;
}

/** Obtains a person's signature for a gate; null if there is no key here. */
export type Vouch = (gate: string) => Decision | null;

export interface Proof {
  backtests: BacktestReport[];
  elsewhere: string[];
  vouched: Record<string, Decision>;
  unproven: string[];
}

/**
 * Combines what was tried here with the evidence of the previous report. `fresh`: by agent, tried here on `base`, the tree of the commit
 * `head`. isKnown: whether another proposal of this workspace has evidence about the agent. moved: renamed agents, with their old path.
 * nameOf: display name of an agent.
 */
export async function proofOf(
  world: { dir: string; trust: Trust; vouch: Vouch; isKnown(agent: string): Promise<boolean> },
  proposal: Pick<Proposal, "id" | "commit" | "report">,
  fresh: readonly BacktestReport[],
  { base, head, moved, nameOf }: { base: Tree; head: string; moved: ReadonlyMap<string, string>; nameOf(agent: string): string },
): Promise<Proof> {
  const proof: Proof = { backtests: [], elsewhere: [], vouched: {}, unproven: [] };
  for (const here of fresh) {
    const { agent } = here;
    const old = proposal.report?.backtests.find((one) => one.agent === agent);
    const name = nameOf(agent);
    if (old !== undefined && old.runs > here.runs) {
      const vouched = proposal.report?.vouched?.[agent];
      const counts = await isVouched(world.trust.people, proposal, base, old, proposal.report?.vouched);
      proof.backtests.push(old);
      proof.elsewhere.push(agent);
      if (vouched !== undefined && counts) proof.vouched[agent] = vouched;
      const known = here.runs === 0 ? "none" : `only ${here.runs}`;
      if (!counts)
        proof.unproven.push(
          `No evidence here: it was tried on ${count(old.runs, "recorded run")} of ${name} where they are, on other code or without a person's signature, and ${known} of them ${here.runs === 1 ? "is" : "are"} in this clone.`,
        );
      continue;
    }
    proof.backtests.push(here);
    const from = moved.get(agentFile(agent));
    if (here.runs === 0 && from !== undefined) {
      proof.unproven.push(`Nothing proves this change of ${name}: its recorded runs are those of ${from}, from where it moves.`);
      continue;
    }
    if (here.runs === 0) {
      if ((await world.isKnown(agent)) || (await hasCommitted(world.dir, head, agent)))
        proof.unproven.push(`No evidence here: ${name} has run, and none of its recorded runs is in this clone.`);
      continue;
    }
    const signature = world.vouch(await evidenceGate(proposal, base, here));
    if (signature !== null) proof.vouched[agent] = signature;
    const missing = here.counts.not_replayable;
    if (missing * 2 > here.runs)
      proof.unproven.push(
        `Nothing proves this change of ${name}: ${commonest(here)} (${missing} of ${count(here.runs, "recorded run")} could not be tried).`,
      );
  }
  return proof;
}

type People = Parameters<typeof isVerified>[1];
type Content = Pick<Proposal, "id" | "commit">;

/** Backtests in a report that a person has signed for exactly this change. */
async function vouchedOf(git: Pick<Git, "tree">, people: People, of: Content, { on, backtests, vouched = {} }: Report) {
  const signed = backtests.filter(({ agent }) => vouched[agent] !== undefined);
  const counts = await Promise.all(
    signed.map((one) => isVouched(people, of, git.tree(on), one, vouched).catch(onCode("GIT_FAILED", () => false))),
  );
  return signed.filter((_, i) => counts[i]);
}

/** True if a person has signed that recorded runs come out worse with exactly this change. */
export async function isVouchedWorse(git: Pick<Git, "tree">, people: People, of: Content, report: Report): Promise<boolean> {
  return (await vouchedOf(git, people, of, report)).some(({ counts }) => counts.worse + counts.failed > 0);
}

/** The number of recorded runs behind a report that were tried here (isOwn) or vouched for: unsigned ones could be invented. */
export async function runsKnown(
  git: Pick<Git, "tree">,
  people: People,
  of: Content,
  report: Report | null,
  isOwn: boolean,
): Promise<number> {
  if (report === null) return 0;
  const here = isOwn ? report.backtests.filter(({ agent }) => report.elsewhere?.includes(agent) !== true) : [];
  const all = new Set([...here, ...(await vouchedOf(git, people, of, report))]);
  return [...all].reduce((sum, { runs }) => sum + runs, 0);
}

/** Whether a person of trust.yaml has signed this backtest of exactly this content on this code. */
async function isVouched(people: People, of: Content, base: Tree, backtest: BacktestReport, vouched: Report["vouched"] = {}) {
  const signed = vouched[backtest.agent];
  return signed?.gate === (await evidenceGate(of, base, backtest)) && isVerified(signed, people);
}

/** True if a commit by a run of this agent is on the branch; other commits rarely contain its words. */
async function hasCommitted(dir: string, head: string, agent: string): Promise<boolean> {
  return (await commitsSaying(dir, head, `Agent: ${agent}@`, undefined, 20)).some(
    ({ trailers }) => trailers["Agent"]?.startsWith(`${agent}@`) === true,
  );
}

/** The most frequent reason why runs could not be tried. */
function commonest({ differences }: BacktestReport): string {
  const untried = differences.filter((one) => one.class === "not_replayable");
  const reasons = Map.groupBy(untried, ({ why }) => (why[0] ?? "").replace(/: .*$/s, ""));
  const [first] = [...reasons].sort(([, a], [, b]) => b.length - a.length);
  return first?.[0] ?? "the recorded runs do not answer what it asks";
}
