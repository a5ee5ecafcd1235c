/**
 * Exchanges proposals between clones: fetches the remote's, joins the history of each with ours, and pushes what is new. Invariants: a
 * decision counts only with its person's signature for exactly this content; the earlier one stands and the later one is reported;
 * without a signature a remote neither ends what waits here nor reopens what is closed.
 */
import { minuteOf } from "../../kernel/day.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import { oneLine } from "../../kernel/text.ts";
import { tally } from "../../engine/approval.ts";
import { createAuthority } from "../../engine/authority.ts";
import { verifyDecision } from "../../engine/signature.ts";
import { ClearedError, toWire } from "../../kernel/errors.ts";
import type { Decision, Objects } from "../../kernel/ports.ts";
import { type RefMove, type SideRefs, createSideRefs, fetchRefs, pushRefs } from "../../workspace/git/proposal-refs.ts";
import { cacheOf } from "../../workspace/own-folders.ts";
import type { Ladder } from "../../rules/policy/levels.ts";
import { demandsOf } from "../widening/widening.ts";
import type { ApplyWorld } from "./apply.ts";
import { gateOf, isOwnReport, questionOf } from "./deciding.ts";
import { type Kept, type ProposalStatusRecord, readProposal, statusFiles } from "./document.ts";
import { isVouchedWorse, runsKnown } from "./proof.ts";
import { type ProposalRefs, REFS, assertId, groupRefs } from "./refs.ts";
import { type ProposalWorld, UNDECIDED, createProposals } from "./store.ts";
import type { ProposalState } from "../proposal-types.ts";

export interface Synced {
  /** Proposals that are new here or have a newer state. */
  fetched: number;
  /** Refs that the remote did not have or had in an older state. */
  pushed: number;
  /** Histories that had continued on both sides. */
  joined: number;
  /** What a person should know, in sentences: a decision that came second, a copy that was replaced. */
  told: string[];
  /** Proposals of the remote that were not accepted, and why. */
  refused: { id: string; why: string }[];
}

const nothing = (): Synced => ({ fetched: 0, pushed: 0, joined: 0, told: [], refused: [] });

type SyncWorld = ProposalWorld & Pick<ApplyWorld, "trust" | "config">;
type People = Parameters<typeof verifyDecision>[1];

interface Side {
  refs: ProposalRefs;
  kept: Kept;
}

const DECIDED: readonly ProposalState[] = ["approved", "rejected", "applied", "reverted"];
// Each loss means that another clone pushed in the same second.
const TRIES = 5;

/** @throws GIT_STATE for an unknown remote, GIT_FAILED */
export async function syncProposals(world: SyncWorld, remote: string): Promise<Synced> {
  const [{ people }, { policy }] = [world.trust, await world.config()];
  const refs = createSideRefs(world.dir);
  const { objects } = world.git;
  const theirs = `refs/cleared/remotes/${remote}/`;
  const total = nothing();
  for (let left = TRIES; left > 0; left--) {
    await fetchRefs(world.dir, remote, REFS, theirs);
    const round = await take({ refs, world, people, policy, objects, done: nothing() }, theirs);
    total.fetched += round.fetched;
    total.joined += round.joined;
    total.told.push(...round.told.filter((line) => !total.told.includes(line)));
    total.refused = round.refused;
    const there = groupRefs(await refs.list(theirs), theirs);
    const refusedIds = new Set(round.refused.map(({ id }) => id));
    const moves = [...groupRefs(await refs.list(REFS), REFS)].flatMap(([id, ours]) =>
      (["change", "state"] as const).flatMap((part) => {
        const [to, from] = [ours[part], there.get(id)?.[part] ?? null];
        return to === undefined || to === "" || to === from || refusedIds.has(id) ? [] : [{ ref: `${REFS}${id}/${part}`, from, to }];
      }),
    );
    // Numbers new proposals, and closes cards of those decided elsewhere.
    await createProposals(world).list();
    if (moves.length === 0) return total;
    if (await pushRefs(world.dir, remote, moves)) return { ...total, pushed: moves.length };
  }
  throw new ClearedError("GIT_FAILED", `The proposals at ${remote} changed each of the ${TRIES} times they were joined. Try again.`);
}

/** Takes over the remote's proposals one by one; an unreadable or untrusted one does not stop the others. */
async function take(at: Taking, theirs: string): Promise<Synced> {
  const { refs, world, objects, done } = at;
  const cache = cacheOf(world.dir);
  const [mine, there] = [groupRefs(await refs.list(REFS), REFS), groupRefs(await refs.list(theirs), theirs)];
  const differing = [...there].filter(([id, one]) => one.change !== mine.get(id)?.change || one.state !== mine.get(id)?.state);
  const sideOf = async (id: string, one: ProposalRefs): Promise<Side> => ({
    refs: one,
    kept: await readProposal(objects, id, one, cache),
  });
  for (const [id, one] of differing) {
    try {
      assertId(id);
      const own = mine.get(id);
      await takeOne(id, own?.change === undefined ? null : await sideOf(id, own), await sideOf(id, one), at);
    } catch (error) {
      done.refused.push({ id, why: toWire(error).message });
    }
  }
  return done;
}

interface Taking {
  refs: SideRefs;
  world: SyncWorld;
  people: People;
  policy: Ladder;
  objects: Objects;
  done: Synced;
}

async function takeOne(id: string, mine: Side | null, there: Side, at: Taking): Promise<void> {
  const { refs, done } = at;
  const moves: RefMove[] = [];
  const kept = mine === null ? there.kept : await older(mine.kept, there.kept, at);
  if (mine === null || kept.commit !== mine.refs.change)
    moves.push({ ref: `${REFS}${id}/change`, from: mine?.refs.change ?? null, to: kept.commit });
  if (mine !== null && mine.kept.commit !== there.kept.commit)
    done.told.push(`“${kept.title}” was proposed in both clones; the earlier proposal counts.`);
  const [own, other] = [mine?.refs.state ?? null, there.refs.state ?? null];
  if (other !== null && other !== own) {
    const isNext = own === null || (await refs.isAncestor(own, other));
    if (isNext) await believed(kept, there.kept, at, mine?.kept ?? null);
    // A report is replaced only by one with as much evidence.
    const [known, more] = mine === null ? [0, 0] : await knownOf(kept, mine.kept, there.kept, at);
    if (isNext && (known <= more || there.kept.state === "superseded")) moves.push({ ref: `${REFS}${id}/state`, from: own, to: other });
    else if (own !== null && mine !== null && (isNext || !(await refs.isAncestor(other, own)))) {
      const to = await join(kept, { own, mine: mine.kept }, { other, there: there.kept }, at);
      moves.push({ ref: `${REFS}${id}/state`, from: own, to });
      done.joined += 1;
    }
  }
  if (moves.length === 0) return;
  if (!(await refs.move(moves))) throw new ClearedError("PROPOSAL_STATE", "it was changed here at the same time; sync again");
  done.fetched += 1;
}

/** The earlier of two commits with the same content, so that both clones choose the same. @throws PROPOSAL_UNKNOWN for other content */
async function older(mine: Kept, there: Kept, { objects }: Taking): Promise<Kept> {
  if (mine.commit === there.commit) return mine;
  const treeOf = async (commit: string) => /^tree (\w+)/.exec((await objects.find(commit))?.bytes.toString("latin1") ?? "")?.[1] ?? commit;
  if (mine.base !== there.base || (await treeOf(mine.commit)) !== (await treeOf(there.commit)))
    throw new ClearedError("PROPOSAL_UNKNOWN", "it has the name of one that is here, and other content");
  return mine.at < there.at || (mine.at === there.at && mine.commit < there.commit) ? mine : there;
}

/** Decisions signed for this content, each once, by time; ties are ordered by signature. */
function validOf(kept: Kept, decisions: readonly Decision[], people: People): { valid: Decision[]; invalid: Decision[] } {
  const all = [...new Map(decisions.map((one) => [canonicalJson(one), one])).values()];
  const isValid = (one: Decision): boolean => {
    try {
      verifyDecision(one, people);
      return one.gate === gateOf(kept);
    } catch (error) {
      // A decision without a valid signature by a person of trust.yaml does not count.
      if (toWire(error).code === "APPROVAL_IDENTITY") return false;
      throw error;
    }
  };
  const valid = all.filter(isValid).sort((a, b) => a.at - b.at || ((a.signature ?? "") < (b.signature ?? "") ? -1 : 1));
  return { valid, invalid: all.filter((one) => !valid.includes(one)) };
}

/** Accepts a decided state only with the signatures it needs, and only if no known decision is missing. @throws PROPOSAL_STATE */
async function believed(kept: Kept, there: Kept, at: Taking, mine: Kept | null): Promise<void> {
  const { valid } = validOf(kept, there.decisions, at.people);
  const own = mine === null ? [] : validOf(kept, mine.decisions, at.people).valid;
  const isIn = (all: readonly Decision[], one?: Decision) => one === undefined || all.some(({ signature }) => signature === one.signature);
  // A rejection stands unless somebody approved before it.
  const isOver = mine?.state === "rejected" && there.state !== "rejected" && (isIn(own, valid[0]) || valid[0]?.decision === "rejected");
  const lost = own.find((one) => !isIn(valid, one)) ?? (isOver ? own.at(-1) : undefined);
  if (lost !== undefined)
    throw new ClearedError("PROPOSAL_STATE", `it says it is ${there.state}, although ${lost.by} ${lost.decision} it here`);
  const unsigned = await unsignedIn({ ...there, commit: kept.commit }, valid, mine, at);
  if (unsigned !== null) throw new ClearedError("PROPOSAL_STATE", unsigned);
}

/** Without a decision, whoever has the proposal may check it, withdraw it or propose it again. */
const isUndecided = ({ state }: Kept): boolean => UNDECIDED.includes(state);

/** Whether the approvals meet the number and levels that our report (without one, the remote's) and trust.yaml require. */
function isApproved(there: Kept, yes: readonly Decision[], mine: Kept | null, { world: { trust }, policy }: Taking): boolean {
  const report = mine?.report ?? there.report;
  const question = questionOf({ ...there, report }, trust.people.length, demandsOf(report?.widening ?? [], trust, policy, there.asked));
  return tally(question, yes, createAuthority(trust.people, policy)).decision !== null;
}

/** A state that the remote claims without the required signature, or null. valid: its decisions that count. */
async function unsignedIn(there: Kept, valid: readonly Decision[], mine: Kept | null, at: Taking): Promise<string | null> {
  const { state, why } = there;
  const waits = mine !== null && isUndecided(mine);
  if (mine?.state === "superseded" && isUndecided(there))
    return `it says it is ${state}, although it was closed here; propose it again if it is still wanted`;
  const needsPerson = state === "approved" || state === "rejected" || (waits && !isUndecided(there));
  const isNo = state === "rejected" || state === "superseded";
  const said = valid.filter(({ decision }) => (decision === "rejected") === isNo);
  const signed =
    state === "blocked" && waits && mine.state !== "blocked"
      ? there.report !== null && (await isVouchedWorse(at.world.git, at.people, there, there.report))
      : !needsPerson || (isNo ? said.length > 0 : isApproved(there, said, mine, at));
  if (signed) return null;
  const missing = `it says it is ${state}, and ${said.length > 0 && !isNo ? "its approvals are not enough" : "no person of trust.yaml has signed that"}`;
  return waits
    ? `${missing}${why === null ? "" : `: ${oneLine(why, 200).replace(/\.$/, "")}`}. It stays ${mine.state} here; \`cleared reject\` closes it`
    : missing;
}

/** The number of recorded runs behind each side's report. */
async function knownOf(
  kept: Kept,
  mine: Kept,
  there: Kept,
  { world: { git, database }, people }: Taking,
): Promise<[mine: number, there: number]> {
  const of = ({ report }: Kept) => runsKnown(git, people, kept, report, isOwnReport(database, { id: kept.id, report }));
  return [await of(mine), await of(there)];
}

/** Joins two histories: all valid decisions, of which the first stands. Returns the commit with both as parents. */
async function join(kept: Kept, a: { own: string; mine: Kept }, b: { other: string; there: Kept }, at: Taking): Promise<string> {
  const { valid, invalid } = validOf(kept, [...a.mine.decisions, ...b.there.decisions], at.people);
  const sides = [a.mine, b.there];
  const [first] = valid;
  const unsigned = await unsignedIn({ ...b.there, commit: kept.commit }, validOf(kept, b.there.decisions, at.people).valid, a.mine, at);
  if (unsigned !== null) at.done.told.push(`“${kept.title}”: ${unsigned}.`);
  const credible = unsigned === null ? sides : [a.mine];
  const decided = first !== undefined && credible.some(({ state }) => DECIDED.includes(state));
  const rejected = decided && first.decision === "rejected";
  const times = new Map<Kept, number>();
  for (const [side, commit] of [[a.mine, a.own] as const, [b.there, b.other] as const])
    times.set(side, (await at.objects.commit(commit))?.at ?? 0);
  const later = [...credible].sort((x, y) => (times.get(y) ?? 0) - (times.get(x) ?? 0) || (x.why ?? "").localeCompare(y.why ?? ""));
  const [known, more] = await knownOf(kept, a.mine, b.there, at);
  const best = known === more ? null : known > more ? a.mine : b.there;
  // Without a decision, the state is that of the report that is kept.
  const open = best !== null && credible.length > 1 && credible.every(isUndecided) ? best : null;
  const chosen = open ?? later.find(({ state }) => DECIDED.includes(state) === decided && state !== "rejected") ?? a.mine;
  for (const one of valid.slice(1))
    if (decided && !sides.every(({ decisions }) => decisions.some((each) => each.signature === one.signature)))
      at.done.told.push(
        `“${kept.title}”: ${one.decision} by ${one.by} on ${minuteOf(one.at)} came second; ${first.decision} by ${first.by} on ${minuteOf(first.at)} stands.`,
      );
  for (const one of invalid)
    at.done.told.push(`“${kept.title}”: ${one.decision} by ${one.by} does not count, it is not signed for this content.`);
  const life: ProposalStatusRecord = {
    state: rejected ? "rejected" : chosen.state,
    why: rejected ? (first.reason ?? null) : chosen.why,
    by: rejected ? first.by : "runtime",
    at: Math.max(...valid.map((one) => one.at), 0) || at.world.clock.now(),
    applied: a.mine.applied ?? credible.at(-1)?.applied ?? null,
    reverted: a.mine.reverted ?? credible.at(-1)?.reverted ?? null,
  };
  const report = best?.report ?? chosen.report ?? a.mine.report ?? b.there.report;
  const old = Math.max(a.mine.decisions.length, valid.length);
  const files = statusFiles(life, report, valid);
  for (let n = valid.length + 1; n <= old; n++) files.set(`decisions/${n}.yaml`, null);
  return at.refs.write({
    parents: [a.own, b.other],
    message: `joined with another clone: ${life.state}\n\nProposal: ${kept.id}\n`,
    at: at.world.clock.now(),
    files,
  });
}
