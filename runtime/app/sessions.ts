/**
 * Paired browsers. `cleared pair` makes a key pair for one browser and signs it with the person's own key; the private half is in the store,
 * encrypted with the one-time code and, once the code is used, with the browser's cookie alone. So neither the store nor a used code can
 * decide anything, a decision from the page is verified by the engine like any other, and deleting the record revokes the browser.
 */
import { createCipheriv, createDecipheriv, createHash, createPublicKey, generateKeyPairSync, randomBytes } from "node:crypto";
import type { Database } from "../engine/store/database.ts";
import { dropFact, dropFacts, factsNamed, getFact, setFact } from "../engine/store/facts.ts";
import { isSigned, sessionText, signDecision, signText } from "../engine/signature.ts";
import { ClearedError } from "../kernel/errors.ts";
import type { Decision } from "../kernel/ports.ts";
import { keepFor, keptAt } from "../workspace/own-folders.ts";
import type { Trust } from "../workspace/settings/config.ts";
import { confirmedSince } from "../workspace/settings/confirmation.ts";
import type { Host } from "./host.ts";
import { holderHere, holdersHere } from "./identity.ts";

/** How long a paired browser may decide: 30 days. */
export const SESSION_MS = 30 * 86_400_000;
const CODE_MS = 600_000;
const PREFIX = "session:";

/** What is stored, under a hash of the code or cookie. Times in ms. */
export interface Pairing {
  by: string;
  /** Public half, DER in base64, and the person's signature over it. */
  key: string;
  until: number;
  signature: string;
  /** Private half, PEM, encrypted. */
  sealed: string;
  /** Until when the code is valid; null once it was used. */
  code: number | null;
}

type Pairs = Pick<Host, "dir" | "trust" | "database" | "clock">;

// Until when each person's pairings were ended, ms: beside the store, because one from a backup has them again.
const ENDED = "unpaired";
const endedIn = (dir: string): Record<string, number> => keptAt<{ ended: Record<string, number> }>(ENDED, dir)?.ended ?? {};

/** True for a pairing of somebody in trust.yaml, made in this folder, that is over neither by its time nor because that person ended it. */
function holds({ dir, trust, clock }: Pairs, pairing: Pairing): boolean {
  const { by, until, code } = pairing;
  const [made, ended] = [until - SESSION_MS, endedIn(dir)];
  const isEnded = made < confirmedSince(dir) || (Object.hasOwn(ended, by) && made <= (ended[by] ?? 0));
  return code === null && until > clock.now() && !isEnded && isOfPerson(pairing, trust.people);
}

const digest = (secret: string): Buffer => createHash("sha256").update(secret).digest();
const nameOf = (secret: string): string => `${PREFIX}${createHash("sha256").update(`name ${secret}`).digest("hex").slice(0, 32)}`;

function seal(text: string, secret: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", digest(secret), nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64");
}

function unseal(sealed: string, secret: string): string {
  const bytes = Buffer.from(sealed, "base64");
  const decipher = createDecipheriv("aes-256-gcm", digest(secret), bytes.subarray(0, 12)).setAuthTag(bytes.subarray(12, 28));
  return decipher.update(bytes.subarray(28), undefined, "utf8") + decipher.final("utf8");
}

/** A code for the person whose key this shell has, and the record to store. @throws APPROVAL_IDENTITY */
export function newPairing(dir: string, trust: Trust, now: number): { code: string; name: string; pairing: Pairing } {
  const { person, key: own } = holderHere(dir, trust);
  const pair = generateKeyPairSync("ed25519");
  // 80 bits, so that the stored record does not allow guessing the code offline.
  const code = randomBytes(10).toString("hex");
  const key = pair.publicKey.export({ type: "spki", format: "der" }).toString("base64");
  const until = now + SESSION_MS;
  const sealed = seal(pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString(), code);
  const signature = signText(sessionText(key, person.name, until), own);
  return { code, name: nameOf(code), pairing: { by: person.name, key, until, signature, sealed, code: now + CODE_MS } };
}

/** A link that pairs one browser, once, for the person whose key this process has; null without a key. `url`: of the page. */
export function pairingLink(host: Pairs, url: string): { by: string; link: string } | null {
  const { dir, trust, database, clock } = host;
  if (holdersHere(trust).length === 0) return null;
  const { code, name, pairing } = newPairing(dir, trust, clock.now());
  keepPairing(database, trust, clock.now(), name, pairing);
  return { by: pairing.by, link: `${url}/pair?code=${code}` };
}

/** True if a browser is paired for somebody in trust.yaml. */
export function isPaired(host: Pairs): boolean {
  return factsNamed(host.database, PREFIX).some(({ value }) => holds(host, JSON.parse(value) as Pairing));
}

/** Signed by somebody in trust.yaml: a row of the store proves nothing. */
function isOfPerson({ by, key, until, signature }: Pairing, people: Trust["people"]): boolean {
  const person = people.find((one) => one.name === by);
  return person !== undefined && isSigned(sessionText(key, by, until), signature, person.key);
}

/** The cookie opens the private half of the key that is signed: another browser's row, copied under this cookie, is not its own. */
function isOwn({ key, sealed }: Pairing, secret: string): boolean {
  try {
    return createPublicKey(unseal(sealed, secret)).export({ type: "spki", format: "der" }).toString("base64") === key;
  } catch {
    return false;
  }
}

/** Stores a pairing and removes expired ones. @throws APPROVAL_IDENTITY */
export function keepPairing(database: Database, { people }: Trust, now: number, name: string, pairing: Pairing): void {
  if (!name.startsWith(PREFIX) || !isOfPerson(pairing, people))
    throw new ClearedError("APPROVAL_IDENTITY", "The pairing is not signed by a person of trust.yaml.");
  database.write(() => {
    dropFacts(database, PREFIX, (value) => {
      const { until, code } = JSON.parse(value) as Pairing;
      return until <= now || (code ?? now) < now;
    });
    setFact(database, name, JSON.stringify(pairing));
  });
}

/** Ends all pairings of a person; returns how many. */
export function endPairings({ dir, database, clock }: Pairs, by: string): number {
  keepFor(ENDED, dir, { ended: { ...endedIn(dir), [by]: clock.now() } });
  return dropFacts(database, PREFIX, (value) => (JSON.parse(value) as Pairing).by === by);
}

/** Exchanges a code for the cookie; the code is then used up. @throws APPROVAL_IDENTITY */
export function redeem(database: Database, code: string, now: number): string {
  const given = code.toLowerCase().replace(/[^0-9a-f]/g, "");
  return database.write(() => {
    const found = lookUp(database, given);
    if (found === null || found.code === null || found.code <= now)
      throw new ClearedError(
        "APPROVAL_IDENTITY",
        "This code is not known, was used, or is older than 10 minutes. `cleared pair` prints a new one.",
      );
    const secret = randomBytes(32).toString("base64url");
    const pairing: Pairing = { ...found, code: null, sealed: seal(unseal(found.sealed, given), secret) };
    dropFact(database, nameOf(given));
    setFact(database, nameOf(secret), JSON.stringify(pairing));
    return secret;
  });
}

/** Who decides with this cookie, or null. */
export function pairedPerson(host: Pairs, secret: string): string | null {
  const found = lookUp(host.database, secret);
  return found !== null && holds(host, found) && isOwn(found, secret) ? found.by : null;
}

/** The decision, signed by this browser. @throws APPROVAL_IDENTITY */
export function signAsBrowser(host: Pairs, secret: string, decision: Omit<Decision, "by" | "signature">): Decision {
  const found = lookUp(host.database, secret);
  if (found === null || !holds(host, found)) throw new ClearedError("APPROVAL_IDENTITY", "This browser is no longer paired.");
  const { by, key, until, signature } = found;
  return signDecision({ ...decision, by, session: { key, until, signature } }, unseal(found.sealed, secret));
}

function lookUp(database: Database, secret: string): Pairing | null {
  return JSON.parse(getFact(database, nameOf(secret)) ?? "null") as Pairing | null;
}
