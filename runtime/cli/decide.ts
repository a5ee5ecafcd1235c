/**
 * A person's decision on a card, from the command line and the page alike. The decision is signed; the owner checks the signature
 * against trust.yaml before anything moves. Order: first what the decision does (wake a run, change the books), then the card,
 * so that a crash in between is repaired by deciding again.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decisionOf, signDecision, verifyDecision } from "../engine/approval.ts";
import { ClearedError } from "../errors.ts";
import type { Card, CommitResult, Decision, Json, RunRecord, Tree } from "../ports.ts";
import type { Trust } from "../workspace/config.ts";
import { closeRow, confirmEntry } from "../workspace/decisions.ts";
import { KEY } from "../workspace/layout.ts";
import type { Host } from "./host.ts";

/** The decision of the person whose key lies in this workspace. @throws APPROVAL_IDENTITY */
export function signAs(dir: string, trust: Trust, decision: Omit<Decision, "by" | "signature">, by?: string): Decision {
  let key: string;
  try {
    key = readFileSync(join(dir, KEY), "utf8");
  } catch (cause) {
    throw new ClearedError(
      "APPROVAL_IDENTITY",
      `There is no key in ${KEY}, so nobody can decide from here. \`cleared init\` makes one; its public half goes into trust.yaml under people.`,
      { cause },
    );
  }
  const holder = trust.people.find((person) => signsFor(key, person));
  if (holder === undefined) throw new ClearedError("APPROVAL_IDENTITY", `The key in ${KEY} belongs to nobody in trust.yaml.`);
  if (by !== undefined && by !== holder.name)
    throw new ClearedError(
      "APPROVAL_IDENTITY",
      `This workspace holds the key of ${holder.name}, not of ${by}. --by only picks a person whose key is here.`,
    );
  return signDecision({ ...decision, by: holder.name, ...(trust.people.length === 1 ? { self: true } : {}) }, key);
}

function signsFor(key: string, person: { name: string; key: string }): boolean {
  const probe = signDecision({ card: 0, decision: "approved", by: person.name, at: 0 }, key);
  try {
    verifyDecision(probe, [person]);
    return true;
  } catch {
    return false; // another person's key
  }
}

/** @throws CARD_UNKNOWN, CARD_CLOSED, APPROVAL_IDENTITY, GIT_STATE, JOURNAL_* */
export async function decideCard(host: Host, decision: Decision): Promise<{ card: Card; run: RunRecord | null; commit: string | null }> {
  verifyDecision(decision, host.trust.people);
  const card = host.cards.get(decision.card);
  if (card === null) throw new ClearedError("CARD_UNKNOWN", `There is no card ${decision.card}. \`cleared queue\` lists the open ones.`);
  if (card.decision !== null)
    throw new ClearedError(
      "CARD_CLOSED",
      `Card ${card.id} was ${card.decision.decision} by ${card.decision.by} on ${new Date(card.decision.at).toISOString().slice(0, 16).replace("T", " ")}.`,
    );
  let commit: string | null = null;
  let taken = decision;
  if (card.gate !== null && card.run !== null) {
    if (card.expires !== null && decision.at >= card.expires)
      throw new ClearedError("CARD_CLOSED", `Card ${card.id} expired on ${new Date(card.expires).toISOString()}.`);
    const answer = await host.engine.signal(card.run, card.gate, decision as unknown as Json, `card/${card.id}/${decision.by}`);
    if (answer === "closed")
      throw new ClearedError("CARD_CLOSED", `The run of card ${card.id} has ended already; \`cleared runs show ${card.run}\` tells how.`);
    // A crash between signal and card, or a second person at the same moment: what the run goes by is what the card says.
    const given = (await host.engine.signals(card.run, card.gate)).map((signal) => signal.payload as unknown as Decision);
    const closed = decisionOf(card, given);
    if (closed === null) return { card, run: await host.engine.get(card.run), commit: null };
    taken = closed;
  } else {
    commit = await changeBooks(host, card, decision);
  }
  host.cards.decide(card.id, taken);
  if (commit !== null) await host.tidy();
  return { card: host.cards.get(card.id) ?? card, run: card.run === null ? null : await host.engine.get(card.run), commit };
}

async function changeBooks(host: Host, card: Card, decision: Decision): Promise<string | null> {
  const about = card.body as { entry?: string; hash?: string; line?: number };
  const build = async (head: Tree): Promise<Map<string, string | null>> => {
    try {
      return await change(head);
    } catch (error) {
      // The import was undone since: there is nothing left to refuse, and the card may go.
      if (
        decision.decision === "rejected" &&
        error instanceof ClearedError &&
        (error.code === "JOURNAL_ENTRY_MISSING" || error.code === "FILE_MISSING")
      )
        return new Map();
      throw error;
    }
  };
  const change = async (head: Tree): Promise<Map<string, string | null>> => {
    if (about.entry !== undefined) {
      return confirmEntry(
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
    }
    if (about.hash !== undefined && about.line !== undefined) return closeRow(head, about.hash, about.line);
    return new Map();
  };
  const verb = decision.decision === "rejected" || decision.account !== undefined ? "correct" : "confirm";
  const result: CommitResult = await host.git.commit({
    message: `${verb}: ${card.title.slice(0, 40)}`,
    trailers: { Card: String(card.id), "Approved-by": decision.by },
    build,
    guard: () => host.world.guard(),
  });
  if (result.status === "user_edit")
    throw new ClearedError(
      "GIT_STATE",
      `${result.paths.join(", ")} has uncommitted edits of yours, and this decision changes it. Commit or undo them, then decide again.`,
    );
  if (result.status === "blocked") throw new ClearedError("GIT_STATE", result.reason);
  return result.status === "committed" ? result.commit : null;
}
