/**
 * Bearer tokens of other agents and programs: their names, and the agents to which they may give tasks. Only a hash of each is stored, in the
 * user's state folder and for this workspace at this path: neither a clone, a copy nor a script of the workspace can add one. Whoever makes one
 * signs it: they know the token, so its tasks may be their own.
 */
import { hash, randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { isSigned, signText } from "../../engine/signature.ts";
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import { idOf, keepFor, keptFor, placeFile } from "../own-folders.ts";

export interface Token {
  /** Also the owner of the tasks that come with it. */
  name: string;
  agents: string[];
  /** When it was made, ms. */
  at: number;
}

export interface KeptToken extends Token {
  hash: string;
  /** By whoever made it; none of an older version, or of a shell without a key. */
  signature?: string;
}

const NAME = /^[a-z][a-z0-9_-]{0,39}$/;
const PREFIX = "cleared_";

const read = (dir: string): KeptToken[] => keptFor<{ tokens: KeptToken[] }>("tokens", dir)?.tokens ?? [];
const write = (dir: string, tokens: KeptToken[]): void => keepFor("tokens", dir, { tokens });

/** All tokens, by name and without their hashes. @throws FOLDER_UNSAFE */
export function listTokens(dir: string): Token[] {
  return read(dir)
    .map(({ name, agents, at }) => ({ name, agents, at }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const textOf = ({ name, agents, hash }: KeptToken) => ({ name, agents, hash });

/** The person who made a token, by the key of their signature; undefined if none of these did. */
export const makerOf = (token: KeptToken, people: readonly { name: string; key: string }[]): string | undefined =>
  people.find(({ key }) => isSigned(textOf(token), token.signature, key))?.name;

/**
 * Makes a token and returns it, which is possible only once.
 * @param key private, PEM, of the person who makes it; none if nobody is identified
 * @throws USAGE, TRUST_CHANGED, FOLDER_UNSAFE
 */
export function addToken(dir: string, { name, agents, at }: Token, key?: string): string {
  if (!NAME.test(name))
    throw new ClearedError("USAGE", `"${name}" cannot name a token: use up to 40 small letters, digits, - and _, a letter first.`);
  if (idOf(dir) === null)
    throw new ClearedError("TRUST_CHANGED", "This workspace is not confirmed on this machine. Run `cleared trust` first.");
  const tokens = read(dir);
  if (tokens.some((one) => one.name === name))
    throw new ClearedError("USAGE", `There already is a token "${name}". \`cleared tokens remove ${name}\` ends it; then add it again.`);
  const token = PREFIX + randomBytes(32).toString("base64url");
  // 256 random bits cannot be guessed, so one round of a hash is enough.
  const made: KeptToken = { name, agents, at, hash: hash("sha256", token) };
  write(dir, [...tokens, { ...made, ...(key === undefined ? {} : { signature: signText(textOf(made), key) }) }]);
  return token;
}

/** @throws USAGE when there is none of that name */
export function removeToken(dir: string, name: string): void {
  const tokens = read(dir);
  const left = tokens.filter((one) => one.name !== name);
  const names = tokens.map((one) => one.name);
  if (left.length === tokens.length)
    throw new ClearedError("USAGE", `There is no token "${name}".${didYouMean(name, names)} There are: ${names.join(", ") || "none"}.`);
  write(dir, left);
}

/** Looks tokens up in the present file, so that a removed one is refused at the next request. */
export function createTokenReader(dir: string): (token: string) => KeptToken | null {
  const file = placeFile("tokens", dir);
  let seen = "";
  let known = new Map<string, KeptToken>();
  return (token) => {
    const found = statSync(file, { throwIfNoEntry: false });
    const now = found === undefined ? "none" : `${found.ino} ${found.mtimeMs} ${found.size}`;
    if (now !== seen) {
      known = new Map(read(dir).map((one) => [one.hash, one]));
      seen = now;
    }
    return known.get(hash("sha256", token)) ?? null;
  };
}
