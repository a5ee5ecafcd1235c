/**
 * Gates: where a run stops until a person has answered. A gate belongs to one step of one run, opens one card, and is decided by the
 * first valid signal in its list. Also what settles a call in doubt: its key, then its read-back, then a person. Never a guess.
 */
import { createHash, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { ClearedError } from "../errors.ts";
import type { Decision, Json, RunLog, Step } from "../ports.ts";
import { type Gate, type Primitive, type StepContext, Suspend, parseParams } from "../primitive.ts";
import { canonicalJson } from "./access.ts";

/** Thrown to end a run without an answer to the script. Only run.ts catches it. */
export class Expired {
  readonly gate: string;
  constructor(gate: string) {
    this.gate = gate;
  }
}

/**
 * The decision of the gate at this step, or a card and a suspension. The gate's name holds what it asks: when the script behind a
 * waiting run is replaced, a decision on the old question does not answer the new one.
 * @throws Suspend, Expired
 */
export function passGate(log: RunLog, seq: number, now: number, gate: Gate): Decision {
  const { expires: _, ...question } = gate.card;
  const asked = createHash("sha256").update(canonicalJson(question)).digest("hex").slice(0, 12);
  const name = `gate_${seq}_${asked}`;
  const [signal] = log.signals(name);
  if (signal !== undefined) return signal.payload as unknown as Decision;
  if (gate.card.expires !== null && now >= gate.card.expires) throw new Expired(name);
  log.release([{ kind: "card", key: `${log.run.id}/${seq}/${asked}`, card: { ...gate.card, run: log.run.id, gate: name } }]);
  throw new Suspend(gate.reason, gate.card.title, { gate: name, ...(gate.card.expires === null ? {} : { until: gate.card.expires }) });
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
  const decision = passGate(log, step.seq, step.at, {
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
  });
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
