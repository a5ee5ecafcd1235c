/**
 * Proof of who decided: a decision is signed with the person's key (Ed25519), or with the key of a browser that the person has paired. The
 * signature covers the decision's canonical text, which names the question it answers.
 */
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { ClearedError } from "../kernel/errors.ts";
import type { Decision } from "../kernel/ports.ts";
import { canonicalJson } from "../kernel/canonical.ts";

/** The signature over a document, base64. `key` is a PEM private key. */
export function signText(document: unknown, key: string): string {
  return sign(null, Buffer.from(canonicalJson(document)), createPrivateKey(key)).toString("base64");
}

/** `key`: the public half, DER in base64, as trust.yaml has it. False for anything that is not a signature. */
export function isSigned(document: unknown, signature: unknown, key: string): boolean {
  // One text for one signature: what was carried out is known by it (settings/sent.ts).
  if (typeof signature !== "string" || Buffer.from(signature, "base64").toString("base64") !== signature) return false;
  const half = createPublicKey({ key: Buffer.from(key, "base64"), format: "der", type: "spki" });
  return verify(null, Buffer.from(canonicalJson(document)), half, Buffer.from(signature, "base64"));
}

export function signDecision(decision: Decision, key: string): Decision {
  const { signature: _, reason = "", ...rest } = decision;
  // A blank reason is none.
  const document = { ...rest, ...(reason.trim() === "" ? {} : { reason }) };
  return { ...document, signature: signText(document, key) };
}

/** @throws APPROVAL_IDENTITY when the signature is not the person's, USAGE for a word that is neither a yes nor a no */
export function verifyDecision(decision: Decision, people: readonly { name: string; key: string }[]): void {
  if (!["approved", "edited", "rejected"].includes(decision.decision))
    throw new ClearedError(
      "USAGE",
      `"${decision.decision}" is not a decision; a card is approved, edited or rejected. Nothing was decided.`,
    );
  const person = people.find((candidate) => candidate.name === decision.by);
  if (person === undefined)
    throw new ClearedError(
      "APPROVAL_IDENTITY",
      `"${decision.by}" is not a person of trust.yaml (${people.map((one) => one.name).join(", ") || "it names none"}).`,
    );
  const { signature, ...document } = decision;
  const { session } = decision;
  if (session !== undefined && !isSigned(sessionText(session.key, decision.by, session.until), session.signature, person.key))
    throw new ClearedError("APPROVAL_IDENTITY", `The browser that decided was not paired by ${decision.by}.`);
  if (session !== undefined && decision.at >= session.until)
    throw new ClearedError("APPROVAL_IDENTITY", `The browser's pairing by ${decision.by} expired. Pair it again with \`cleared pair\`.`);
  if (!isSigned(document, signature, session?.key ?? person.key))
    throw new ClearedError("APPROVAL_IDENTITY", `The decision is not signed by the key that trust.yaml gives for ${decision.by}.`);
}

/** False for a decision that proves nothing: `verifyDecision` refuses it. */
export function isVerified(decision: Decision, people: Parameters<typeof verifyDecision>[1]): boolean {
  try {
    verifyDecision(decision, people);
    return true;
  } catch {
    return false;
  }
}

/** The document a person signs to pair a browser. */
export function sessionText(session: string, by: string, until: number): { session: string; by: string; until: number } {
  return { session, by, until };
}
