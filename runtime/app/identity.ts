/**
 * Whose key this shell has: the file named by CLEARED_KEY, else one of the user's keys outside of every workspace (own-folders.ts). No key of
 * the workspace itself: who made it may have it, too. This proves only that whoever runs the command can read the file.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { isSigned, signDecision, signText } from "../engine/signature.ts";
import { ClearedError } from "../kernel/errors.ts";
import type { Decision, Json } from "../kernel/ports.ts";
import type { Trust } from "../workspace/settings/config.ts";
import { readLocal } from "./local.ts";
import { NOBODY, quoted } from "../kernel/text.ts";
import { isObject } from "../rules/tools/shape.ts";
import { KEY } from "../workspace/layout.ts";
import { keyFile, readIfThere } from "../workspace/own-folders.ts";
import type { Person } from "../workspace/settings/people.ts";
import type { Proof } from "./socket.ts";

interface Holder {
  person: Person;
  /** PEM. */
  key: string;
  file: string;
}

/** The people of trust.yaml whose keys are here; none if it is unconfirmed. */
export function holdersHere({ people }: Pick<Trust, "people">): Holder[] {
  const named = process.env["CLEARED_KEY"];
  return people.flatMap((person) => {
    const file = named ?? keyFile(person.key);
    const key = isOpen(file) ? null : readIfThere(file);
    return key !== null && fits(key, person) ? [{ person, key, file }] : [];
  });
}

/** Why a key file here is not used: others may read it, so that its key proves nothing. A sentence for each such file. */
export function openKeys({ people }: Pick<Trust, "people">): string[] {
  const named = process.env["CLEARED_KEY"];
  return (named === undefined ? people.map(({ key }) => keyFile(key)) : [named])
    .filter(isOpen)
    .map((file) => `Other users of this machine may read ${file}, so its key is not used. Close it: chmod 600 ${quoted(file)}`);
}

function isOpen(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || process.platform === "win32") return false;
  // A file of somebody else, such as a secret of a container, may be open to our group: that is how we can read it.
  return (found.mode & (found.uid === process.getuid?.() ? 0o077 : 0o007)) !== 0;
}

/** The person who decides here, with their key. @throws APPROVAL_IDENTITY */
export function holderHere(dir: string, trust: Trust, by?: string): Holder {
  const here = holdersHere(trust);
  const found = by === undefined ? here[0] : here.find(({ person }) => person.name === by);
  if (found !== undefined) return found;
  const named = process.env["CLEARED_KEY"];
  const [open] = openKeys(trust);
  if (open !== undefined) throw new ClearedError("APPROVAL_IDENTITY", open);
  if (named !== undefined && readIfThere(named) === null)
    throw new ClearedError("APPROVAL_IDENTITY", `There is no key in ${named}, which CLEARED_KEY names, so you cannot decide from here.`);
  if (here.length === 0)
    throw new ClearedError(
      "APPROVAL_IDENTITY",
      named === undefined
        ? `You have no key of a person in trust.yaml, so you cannot decide from here. \`cleared trust --new-key NAME\` makes a key to add there; CLEARED_KEY can name another key file.${existsSync(join(dir, KEY)) ? ` ${KEY} of an older version is not used: \`cleared trust\` moves it.` : ""}`
        : `The key in ${named} belongs to no person in trust.yaml.`,
    );
  throw new ClearedError(
    "APPROVAL_IDENTITY",
    `You have the key of ${here.map(({ person }) => person.name).join(", ")}, not of ${by}. --by only picks a person whose key is here; CLEARED_KEY names another key file.`,
  );
}

/** Signs a decision as the person whose key this shell has. @throws APPROVAL_IDENTITY */
export function signAs(dir: string, trust: Trust, decision: Omit<Decision, "by" | "signature">, by?: string): Decision {
  const { person, key } = holderHere(dir, trust, by);
  return signDecision({ ...decision, by: person.name, ...(trust.people.length === 1 ? { self: true } : {}) }, key);
}

/** Who starts a run: `{by}`, or nothing without a key. */
export function starter(trust: Trust): { by?: string } {
  const name = holdersHere(trust)[0]?.person.name;
  return name === undefined ? {} : { by: name };
}

/** The same, with the trust.yaml that is valid here. */
export const starterHere = (dir: string): { by?: string } => starter(readLocal(dir).trust);

/** Who decides by a command at once: the same person as on a card; NOBODY where trust.yaml names no people. @throws APPROVAL_IDENTITY */
export function deciderHere(dir: string): string {
  const { trust } = readLocal(dir);
  return trust.people.length === 0 ? NOBODY : holderHere(dir, trust).person.name;
}

/** The name, of a person of trust.yaml. @throws APPROVAL_IDENTITY */
export function personNamed({ people }: Pick<Trust, "people">, by: string): string {
  if (people.some(({ name }) => name === by)) return by;
  throw new ClearedError("APPROVAL_IDENTITY", `"${by}" is not a person of the trust.yaml that the owner of this workspace has read.`);
}

const requestText = (request: string, params: unknown, challenge: string) => ({ request, params: params as Json, challenge });
const nameIn = (params: unknown): string | null => {
  const by = isObject(params as Json) ? (params as { by?: unknown }).by : null;
  return typeof by === "string" && by !== NOBODY ? by : null;
};

/** The signature of this person over a document; undefined if their key is not here. */
export function signedBy(trust: Pick<Trust, "people">, by: string, text: Json): string | undefined {
  const holder = holdersHere(trust).find(({ person }) => person.name === by);
  return holder && signText(text, holder.key);
}

/** Signs a request over the owner's socket as the person it names; undefined if it names none whose key is here. */
export function signRequest(dir: string, method: string, params: unknown, challenge: string): string | undefined {
  const by = nameIn(params);
  // As it arrives: without what JSON omits.
  const asked = () => requestText(method, JSON.parse(JSON.stringify(params)), challenge);
  return by === null ? undefined : signedBy(readLocal(dir).trust, by, asked());
}

/** The parameters of a request that came over the socket: by nobody, unless the person it names signed it for this connection. */
export function provenParams(people: readonly Person[], method: string, params: unknown, { challenge, signature }: Proof): unknown {
  const by = nameIn(params);
  const person = people.find(({ name }) => name === by);
  // A name that the owner does not know is refused by the operation.
  if (person === undefined || isSigned(requestText(method, params, challenge), signature, person.key)) return params;
  return { ...(params as object), by: NOBODY };
}

/** True for the private half of this person's key. */
export function fits(key: string, { name, key: half }: Person): boolean {
  try {
    return isSigned({ probe: name }, signText({ probe: name }, key), half);
  } catch {
    return false; // not a private key
  }
}
