/**
 * What a person of this machine has confirmed of a workspace's trust.yaml; nothing of it counts before. The confirmation lies in the user's
 * state folder and is for this text, for the code it names, for this place and for the id in `.cleared`: neither a clone, a copy nor an
 * archive brings one along, and a pull that changes any of it ends it.
 */
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Json } from "../../kernel/ports.ts";
import { broughtCode } from "./brought-code.ts";
import { type Trust, readTrust, trustOf } from "./config.ts";
import { ID, STATE, TRUST } from "../layout.ts";
import { assertWorkspaceState, keepFor, keptFor, makeOwnFolder, readIfThere, writePrivate } from "../own-folders.ts";

/** trust.yaml as it is now, for a person to read and confirm. */
export interface Seen {
  text: string;
  trust: Trust;
  /** The value as written. */
  value: Json;
  /** Hash of each file that plugins and tool servers bring into the workspace as code, by path. */
  code: Record<string, string>;
}

/** `text`: its hash. */
type Confirmed = Pick<Seen, "text" | "value" | "code">;

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** @throws CONFIG_INVALID, PLUGIN_INVALID */
export function lookAtTrust(dir: string): Seen {
  const text = readIfThere(join(dir, TRUST)) ?? "";
  const { trust, value } = readTrust(text);
  return { text, trust, value, code: broughtCode(dir, trust) };
}

/** What was last confirmed of the workspace at this place, whatever has changed since; null when nothing was. @throws FOLDER_UNSAFE */
const lastOf = (dir: string) => keptFor<Confirmed>("confirmed", dir);

/** trust.yaml if a person has confirmed exactly this text and code here; else what they confirmed before, or null. @throws CONFIG_INVALID, FOLDER_UNSAFE */
export function confirmedTrust(dir: string, text: string): { trust: Trust } | { before: { trust: Trust; code: Seen["code"] } | null } {
  const kept = lastOf(dir);
  if (kept === null) return { before: null };
  const trust = trustOf(kept.value);
  const same = kept.text === digest(text) && JSON.stringify(broughtCode(dir, trust)) === JSON.stringify(kept.code);
  return same ? { trust } : { before: { trust, code: kept.code } };
}

/** A person, or a script on their behalf, has read this and says that it counts. @throws FOLDER_UNSAFE */
export function keepConfirmation(dir: string, { text, value, code }: Seen): void {
  assertWorkspaceState(dir);
  makeOwnFolder(join(dir, STATE).slice(0, -1));
  // One that came with the folder is known to whoever made the folder.
  writePrivate(join(dir, ID), lastOf(dir)?.id ?? randomBytes(16).toString("hex"));
  keepFor("confirmed", dir, { text: digest(text), value, code } satisfies Confirmed);
  // Told here and not by the next command.
  lastOf(dir);
}
