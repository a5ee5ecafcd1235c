/**
 * A person's decision on a card, from the command line or the page. The decision is signed; the owner verifies the signature against
 * trust.yaml before anything happens. A decision on a gate is stored in one transaction with its card. One that changes the books is recorded
 * first, then carried out, then put on the card, so that the next owner completes what a crash interrupted.
 */
import { createHash } from "node:crypto";
import { minuteOf } from "../kernel/day.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { type Authority, tally } from "../engine/approval.ts";
import { asAskedNow, createAuthority, questionIn, shownIn, shownOf } from "../engine/authority.ts";
import { committedOrRefused, isOurs } from "../engine/attempt.ts";
import { CRASH, DECIDING, PROPOSED, closed } from "../engine/store/cards.ts";
import { dropFact, factsNamed, getFact, setFact } from "../engine/store/facts.ts";
import { assertMeant, callsOf, changesIn, editCalls, readForm } from "../rules/edits.ts";
import { verifyDecision } from "../engine/signature.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import { NOBODY } from "../kernel/text.ts";
import type { CorrectionCase } from "../change/evidence/freeze.ts";
import type { Card, CardDraft, Decision, Json, RunRecord, Signal, Tree } from "../kernel/ports.ts";
import { authorOf } from "../change/proposals/author.ts";
import { gateOf, questionOf } from "../change/proposals/deciding.ts";
import { addDialect, closeRow, confirmEntry, correctEntry } from "../workspace/books/decisions.ts";
import type { Host } from "./host.ts";
import { classifiedIn, markDecision } from "./models.ts";
import { expectCorrectionCase, correctionCaseFor } from "./correction-cases.ts";

/** What is signed with a decision on this card: the question it is for, what it shows, and the approved calls, if they were edited. */
export function asked(card: Card): Pick<Decision, "card" | "gate" | "shown" | "calls"> {
  if (card.kind === "proposal") {
    const { proposal: id, commit } = card.body as { proposal: string; commit: string };
    return { card: card.id, gate: gateOf({ id, commit }) };
  }
  const several = (card.approvals ?? 1) > 1 || (card.levels ?? []).length > 1;
  const calls = several && card.gate !== null ? { calls: callsOf(card) } : {};
  return { card: card.id, gate: questionIn(card), shown: shownOf(card), ...calls };
}

/** An approval: of a form with the values entered, of calls with changed parameters. @throws USAGE */
export function agreed(card: Card, set: Readonly<Record<string, string>>): Pick<Decision, "decision" | "calls" | "result"> {
  if (card.kind === "form") return { decision: "approved", result: readForm(card.fields ?? {}, set) };
  const calls = editCalls(callsOf(card), set);
  return changesIn(callsOf(card), calls).length === 0 ? { decision: "approved" } : { decision: "edited", calls };
}

export interface Decided {
  card: Card;
  run: RunRecord | null;
  commit: string | null;
  /** File of the case made from the correction; null if there is none, `noCase` may say why. */
  case: string | null;
  noCase: string | null;
  /** Number of the proposal made from the decision, or null; then `noRule` may say why there is no rule. */
  proposal: number | null;
  noRule: string | null;
  /** What the card still waits for, in words; null once it is closed. */
  still: string | null;
}

const NOTHING = { run: null, commit: null, case: null, noCase: null, proposal: null, noRule: null, still: null };

const caseIn = (lesson: CorrectionCase | null) =>
  lesson === null ? {} : "file" in lesson ? { case: lesson.file } : { noCase: lesson.why };

/** @throws CARD_UNKNOWN, CARD_CLOSED, APPROVAL_*, RUN_INPUT, USAGE, GIT_STATE, JOURNAL_* */
export async function decideCard(host: Host, decision: Decision): Promise<Decided> {
  host.assertTrust();
  verifyDecision(decision, host.trust.people);
  const card = host.cards.get(decision.card);
  if (card === null) throw new ClearedError("CARD_UNKNOWN", `There is no card ${decision.card}. \`cleared queue\` lists the open ones.`);
  if (card.decision !== null) throw closed(card.id, card.decision);
  assertMeant(card, decision);
  if (decision.account !== undefined) await (await import("./work-tree.ts")).assertCommitted(host, decision.account);
  if (card.gate !== null && card.run !== null) return decideGate(host, card, card.run, decision);
  if (card.kind === "proposal") return decideProposed(host, card, decision);
  return alone(host, card, async () => {
    const left = getFact(host.database, `${DECIDING}${card.id}`);
    // An earlier decision that was recorded and not completed comes first; this one is then too late.
    if (left !== null && left !== JSON.stringify(decision)) await settle(host, card, left).catch(() => undefined);
    const now = host.cards.get(card.id)?.decision ?? null;
    if (now !== null) throw closed(card.id, now);
    return carryOut(host, shownIn(card, decision), decision);
  });
}

/** Cards whose decisions this process, the workspace's only owner, is carrying out. */
const underWay = new Set<string>();

async function alone<T>(host: Host, card: Card, work: () => Promise<T>): Promise<T> {
  const key = `${host.dir} ${card.id}`;
  if (underWay.has(key))
    throw new ClearedError("CARD_CLOSED", `Card ${card.id} is being decided at this moment; \`cleared queue --all\` shows by whom.`);
  underWay.add(key);
  try {
    return await work();
  } finally {
    underWay.delete(key);
  }
}

/**
 * Changes the books by a decision that is recorded first, so that nobody else closes its card meanwhile (`decide` in engine/store/cards.ts);
 * after an interruption between commit and card, the next owner completes it.
 */
async function carryOut(host: Host, card: Card, decision: Decision): Promise<Decided> {
  const fact = `${DECIDING}${card.id}`;
  const yes = `decision ${decision.signature}`;
  if (host.world.sent.has(yes))
    throw new ClearedError("CARD_CLOSED", `This decision was carried out before. Card ${card.id} asks anew: decide it again.`);
  setFact(host.database, fact, JSON.stringify(decision));
  try {
    const { commit, lesson, proposal, noRule = null } = await changeBooks(host, card, decision);
    const crashed = card.key.startsWith(CRASH) && decision.decision === "approved" ? await host.engine.get(card.run ?? "") : null;
    if (crashed?.status === "failed") await host.engine.retry(crashed.id);
    const classified = await classifiedIn(host, card);
    host.database.write(() => {
      host.cards.decide(card.id, decision);
      if (proposal !== null) setFact(host.database, `${PROPOSED}${card.key}`, String(proposal));
      if (classified !== null) markDecision(host, card, decision, classified);
      dropFact(host.database, fact);
    });
    host.world.sent.keep(yes);
    if (commit !== null) await host.tidy();
    if (card.kind === "same" || card.kind === "gone" || card.kind === "account") await (await import("./rows.ts")).followRows(host);
    const run = card.run === null ? null : await host.engine.get(card.run);
    return { ...NOTHING, card: host.cards.get(card.id) ?? card, run, commit, ...caseIn(lesson), proposal, noRule };
  } catch (error) {
    if (!isOurs(error)) dropFact(host.database, fact);
    throw error;
  }
}

/** Completes decisions that an earlier owner did not. One that cannot be carried out is reported and dropped. */
export async function settleDecisions(host: Host, note: (error: unknown) => void): Promise<void> {
  for (const { value: text } of factsNamed(host.database, DECIDING)) {
    const card = host.cards.get((JSON.parse(text) as Decision).card);
    if (card !== null) await settle(host, card, text).catch(note);
  }
}

/** `text`: a recorded decision, from a row that proves nothing by itself. */
async function settle(host: Host, card: Card, text: string): Promise<void> {
  const decision = JSON.parse(text) as Decision;
  const fact = `${DECIDING}${card.id}`;
  try {
    verifyDecision(decision, host.trust.people);
    if (card.decision !== null || card.gate !== null || card.kind === "proposal" || decision.card !== card.id)
      dropFact(host.database, fact);
    else await carryOut(host, shownIn(card, decision), decision);
  } catch (error) {
    if (!isOurs(error)) dropFact(host.database, fact);
    throw error;
  }
}

/** Decision and effect on the run are stored together, so the card shows what the run uses; a later decision is told who was first. */
async function decideGate(host: Host, opened: Card, id: string, decision: Decision): Promise<Decided> {
  const run = await host.engine.get(id);
  if (run === null) throw new ClearedError("CARD_UNKNOWN", `The run of card ${opened.id} no longer exists.`);
  const proven = await host.engine.isProven(run.id);
  const card = asAskedNow(opened, proven ? run : { by: NOBODY }, host.world.people);
  const authority = await host.world.authority(run);
  const why = authority.objection(card, decision);
  if (why !== null) throw why;
  if (card.expires !== null && host.clock.now() >= card.expires)
    throw new ClearedError("CARD_CLOSED", `Card ${card.id} expired on ${minuteOf(card.expires)}.`);
  if (decision.decision === "edited") {
    const { assertFits, assertTaken } = await import("./edited-calls.ts");
    await assertFits(host, run, card.calls, decision.calls ?? card.calls);
    await assertTaken(host, run, card, decision);
  }
  const gate = card.gate as string;
  if (decision.decision === "edited" || card.edited !== undefined) expectCorrectionCase(host, id);
  // Sent twice it is one decision; repeated after a different one it is new, because the last one counts.
  const { at: _, signature: _s, session: _p, ...answer } = decision;
  const what = createHash("sha256").update(canonicalJson(answer)).digest("hex").slice(0, 16);
  const name = `card/${card.id}/${decision.by}/${what}/`;
  const before = await host.engine.signals(id, gate);
  const key = before.at(-1)?.key.startsWith(name) === true ? (before.at(-1)?.key ?? "") : `${name}${before.length}`;
  const decisionOf = ({ payload }: Signal) => payload as unknown as Decision;
  const count = (given: readonly Signal[]) => tally(card, given.map(decisionOf), authority);
  const taken = await host.engine.signal(id, gate, decision as unknown as Json, key, (given) => {
    const { decision: come, calls, people } = count(given);
    if (come === null) host.cards.revise(card.id, { edited: calls, said: people });
    // A run that has not reached its question has no card to close yet.
    else if (host.cards.get(card.id)?.decision === null) host.cards.decide(card.id, come);
  });
  if (taken === "closed") {
    const now = host.cards.get(card.id)?.decision;
    if (now != null && now.by !== "runtime") throw closed(card.id, now);
    throw new ClearedError("CARD_CLOSED", `The run of card ${card.id} has ended already; \`cleared runs show ${id}\` shows how.`);
  }
  const counted = count(await host.engine.signals(id, gate));
  if (counted.decision === null) {
    const open = host.cards.get(card.id) ?? card;
    return { ...NOTHING, card: open, run: await host.engine.get(id), still: stillOf(open, authority, counted.people) };
  }
  const settled = host.cards.get(card.id) ?? card;
  const people = counted.decision.people?.map((one) => one.by) ?? [counted.decision.by];
  if (!people.includes(decision.by) || (decision.decision === "rejected") !== (counted.decision.decision === "rejected"))
    throw closed(card.id, counted.decision);
  return { ...NOTHING, card: settled, run: await host.engine.get(id) };
}

/** The proposal store closes the card; decisions of two people are counted as at a gate. */
async function decideProposed(host: Host, card: Card, decision: Decision): Promise<Decided> {
  const { decideProposal } = await import("../change/proposals/apply.ts");
  const again = async () => (await import("./propose-again.ts")).proposeAgain(host);
  const { proposal, commit, open } = await decideProposal(host, card, decision, async (id) =>
    (await import("./proposals-api.ts")).prepareProposal(host, id),
  ).catch(async (error: unknown) => {
    const number = toWire(error).code === "PROPOSAL_STATE" ? (await again()).get((card.body as { proposal: string }).proposal) : undefined;
    if (number === undefined) throw error;
    const then = `Proposal ${number} is the same answer on top of that; look at it, then \`cleared approve ${number}\`.`;
    throw new ClearedError("PROPOSAL_STATE", `Proposal ${card.id} cannot be applied, because its file was changed since. ${then}`);
  });
  if (commit !== null) await again();
  // The question it answered is asked again.
  if (proposal.state === "rejected") await (await import("./reconcile.ts")).reconcileCards(host);
  if (open !== null) host.cards.revise(card.id, { edited: [], said: open.people });
  const done = { ...NOTHING, card: host.cards.get(card.id) ?? card, commit };
  if (open === null) return done;
  const authority = createAuthority(host.trust.people, (await host.config()).policy);
  return {
    ...done,
    still: stillOf(questionOf({ ...proposal, author: await authorOf(host, proposal) }, host.trust.people.length), authority, open.people),
  };
}

function stillOf(card: CardDraft, authority: Authority, people: readonly string[]): string {
  const more = (card.approvals ?? 1) - people.length;
  const levels = authority.unmet(card, people);
  const words = [
    ...(more > 0 ? [`${more} more ${more === 1 ? "person" : "people"}`] : []),
    ...(levels.length > 0 ? [`approval by ${levels.join(" and ")}`] : []),
  ];
  return words.join(", and ");
}

/** What the decision changes in the books and, for a correction, in the cases: one commit. */
async function changeBooks(
  host: Host,
  card: Card,
  decision: Decision,
): Promise<{ commit: string | null; lesson: CorrectionCase | null; proposal: number | null; noRule?: string | null }> {
  if (card.kind === "rule") return { lesson: null, ...(await (await import("./learn.ts")).carryOutRule(host, card, decision)) };
  if (card.kind === "account" && decision.decision === "approved")
    return { commit: null, lesson: null, proposal: await (await import("./statement-accounts.ts")).proposeAccount(host, card, decision) };
  const about = card.body as { entry?: string; hash?: string; line?: number; about?: { dialect?: string } };
  const moves = decision.account !== undefined || (decision.decision === "rejected" && card.kind === "entry");
  const corrects = about.entry !== undefined && card.run !== null && moves;
  const teach = corrects ? await correctionCaseFor(host, { run: card.run ?? "", entry: about.entry ?? "", ...decision }) : null;
  let lesson: CorrectionCase | null = null;
  const build = async (head: Tree): Promise<Map<string, string | null>> => {
    try {
      const files = await change(head);
      lesson = (await teach?.(head, files)) ?? null;
      return lesson !== null && "file" in lesson ? new Map([...files, [lesson.file, lesson.text]]) : files;
    } catch (error) {
      const isGone = error instanceof ClearedError && (error.code === "JOURNAL_ENTRY_MISSING" || error.code === "FILE_MISSING");
      // There is nothing left to refuse, so the card is closed.
      if (isGone && decision.decision === "rejected") return new Map();
      const why = `What card ${card.id} asks about is no longer in the books at HEAD: its import was undone, or the branch was moved.`;
      throw isGone ? new ClearedError(error.code, `${why} Import the statement again, then decide; rejecting it closes the card.`) : error;
    }
  };
  const change = async (head: Tree): Promise<Map<string, string | null>> => {
    if (card.kind === "correction" && decision.decision === "rejected") return new Map();
    if (about.entry !== undefined) {
      const files = await (card.kind === "correction" ? correctEntry : confirmEntry)(
        head,
        about.entry,
        {
          approve: decision.decision === "approved",
          by: decision.by,
          ...(decision.account === undefined ? {} : { account: decision.account }),
          ...(decision.reason === undefined ? {} : { reason: decision.reason }),
        },
        await host.config(),
      );
      if (files.size > 0 && decision.decision === "approved") await (await import("./rows.ts")).assertAsBooked(host, card, head);
      return files;
    }
    const guess = card.kind === "row" && decision.decision === "approved" ? about.about?.dialect : undefined;
    // From now on the file is parsed this way; its receipt stays open until then.
    if (guess !== undefined) return addDialect(head, guess);
    if (about.hash !== undefined && about.line !== undefined)
      return closeRow(head, about.hash, about.line, decision.decision === "approved");
    return card.kind === "same" || card.kind === "gone" || card.kind === "account"
      ? (await import("./rows.ts")).answerRows(host, card, decision, head)
      : new Map();
  };
  const corrected = decision.decision === "rejected" || decision.account !== undefined || card.kind === "gone";
  const verb = corrected ? "correct" : "confirm";
  const result = await host.git.commit({
    message: `${verb}: ${card.title.slice(0, 40)}`,
    trailers: { Card: String(card.id), "Approved-by": decision.by },
    build,
  });
  return { commit: committedOrRefused(result, "decide again"), lesson, proposal: null };
}
