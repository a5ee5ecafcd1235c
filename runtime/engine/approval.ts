/**
 * Gates: where a run stops until a person has answered. A gate belongs to one step of one run, opens one card, and is decided by the
 * first valid signal in its list. Also what settles a call in doubt: its key, then its read-back, then a person. Never a guess.
 */
import { createHash, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { ClearedError } from "../errors.ts";
import type { Call, CardDraft, Change, Decision, Json, RunLog, RunRecord, Step } from "../ports.ts";
import { End, type Gate, type Primitive, type StepContext, Suspend, parseParams } from "../primitive.ts";
import { canonicalJson } from "./access.ts";

/** What the process adds to a card: who is asked for, and what they should know. Not part of the question itself. */
export type Demands = Pick<CardDraft, "level" | "levels" | "approvals" | "not_by" | "brief">;

/** What an approval profile of trust.yaml answers without asking anybody, or null. */
type Standing = (run: RunRecord, card: CardDraft) => Decision | null;

/** In a dry run every gate is passed, or the calls it covers would be refused. */
export function waved(now: number): Decision {
  return { card: 0, decision: "approved", by: "dry run", at: now };
}

/** What a decision changes in the run: the calls it covers may be made, each once. */
export function decidedChange(gate: Gate, decision: Decision): Change {
  const calls = decision.decision === "rejected" ? [] : (decision.calls ?? gate.card.calls);
  const { people, self } = decision;
  return {
    op: "decided",
    decision: decision.decision,
    by: decision.by,
    calls,
    ...(people === undefined ? {} : { people }),
    ...(self === undefined ? {} : { self }),
  };
}

/**
 * The decision of the gate at this step, or a card and a suspension. The gate's name holds what it asks: when the script behind a
 * waiting run is replaced, a decision on the old question does not answer the new one.
 * @throws Suspend, End
 */
export function passGate(log: RunLog, seq: number, now: number, gate: Gate, demands: Partial<Demands>, standing: Standing): Decision {
  const { expires: _, ...question } = gate.card;
  const asked = createHash("sha256").update(canonicalJson(question)).digest("hex").slice(0, 12);
  const name = `gate_${seq}_${asked}`;
  const card = { ...gate.card, ...demands, run: log.run.id, gate: name };
  const given = log.signals(name).map((signal) => signal.payload as unknown as Decision);
  const decided = decisionOf(card, given);
  if (decided !== null) return decided;
  const stands = standing(log.run, card);
  if (stands !== null) return stands;
  if (card.expires !== null && now >= card.expires) throw new End("expired", `Nobody answered "${card.title}" in time.`);
  log.release([{ kind: "card", key: `${log.run.id}/${seq}/${asked}`, card }]);
  throw new Suspend(gate.reason, card.title, { gate: name, seen: given.length, ...(card.expires === null ? {} : { until: card.expires }) });
}

/**
 * The rule of every gate: one no closes it, and so many different people's yes to the same calls. Who edits the calls has said yes to
 * their own version only, so an edit starts the count again. Null while the gate is open.
 */
export function decisionOf(card: Pick<CardDraft, "calls" | "approvals">, decisions: readonly Decision[]): Decision | null {
  let calls: readonly Call[] = card.calls;
  let edited: Decision | null = null;
  let people: Decision[] = [];
  for (const decision of decisions) {
    if (decision.decision === "rejected" || decision.decision === "expired") return decision;
    if (decision.decision === "edited") {
      calls = decision.calls ?? calls;
      edited = decision;
      people = [];
    } else if (decision.calls !== undefined && canonicalJson(decision.calls) !== canonicalJson(calls)) continue;
    if (!people.some((one) => one.by === decision.by)) people.push(decision);
    if (people.length < (card.approvals ?? 1)) continue;
    const { signature, ...last } = decision;
    const all = people.map(({ by, at, self }) => ({ by, at, ...(self === undefined ? {} : { self }) }));
    return {
      ...last,
      ...(all.length > 1 ? { people: all } : signature === undefined ? {} : { signature }),
      by: all.map((one) => one.by).join(", "),
      ...(edited === null ? {} : { decision: "edited", calls: [...calls] }),
    };
  }
  return null;
}

/**
 * What to do with a call that was started before a crash and has no outcome: answer what it did, or null to make it (again).
 * @throws Suspend while a person has to look
 */
export async function settleDoubt(primitive: Primitive, step: Step, log: RunLog, ctx: StepContext): Promise<{ value: Json } | null> {
  if (primitive.idempotent === "key") return null;
  const params = parseParams(primitive, JSON.parse(step.params) as Json);
  const seen = await primitive.readBack?.(params, ctx);
  if (seen?.happened === true) return { value: seen.result as Json };
  if (seen?.happened === false) return null;
  const question: Gate = {
    reason: "in_doubt",
    card: {
      kind: "in_doubt",
      title: `Did ${primitive.name} happen?`,
      body: {
        question:
          "The computer stopped while this call was under way. Look outside: approve if it happened, reject if it did not (then it is made now).",
        key: ctx.key,
        attempt: step.attempts,
      },
      calls: [{ tool: primitive.name, params: JSON.parse(step.params) as Json }],
      level: null,
      expires: null,
    },
  };
  const decision = passGate(log, step.seq, step.at, question, {}, () => null);
  if (decision.decision === "rejected") return null;
  return { value: decision.result ?? ((await primitive.dryRun?.(params, ctx)) as Json) };
}

/** The decision with the person's signature over its canonical text. `key` is a PEM private key (Ed25519). */
export function signDecision(decision: Decision, key: string): Decision {
  const { signature: _, ...document } = decision;
  return { ...document, signature: sign(null, Buffer.from(canonicalJson(document)), createPrivateKey(key)).toString("base64") };
}

/** @throws APPROVAL_IDENTITY when the signature is not the person's */
export function verifyDecision(decision: Decision, people: readonly { name: string; key: string }[]): void {
  const person = people.find((candidate) => candidate.name === decision.by);
  if (person === undefined) {
    throw new ClearedError(
      "APPROVAL_IDENTITY",
      `"${decision.by}" is not a person of trust.yaml (${people.map((one) => one.name).join(", ") || "it names none"}).`,
    );
  }
  const { signature, ...document } = decision;
  const key = createPublicKey({ key: Buffer.from(person.key, "base64"), format: "der", type: "spki" });
  if (signature === undefined || !verify(null, Buffer.from(canonicalJson(document)), key, Buffer.from(signature, "base64"))) {
    throw new ClearedError("APPROVAL_IDENTITY", `The decision is not signed by the key that trust.yaml gives for ${decision.by}.`);
  }
}
