/**
 * What a person of this machine has confirmed of a workspace's trust.yaml; nothing of it counts before. The confirmation lies in the user's
 * state folder and is for this text, for the code it names, for this place and for the id in `.cleared`: neither a clone, a copy nor an
 * archive brings one along, and a pull that changes any of it ends it.
 *
 * The code: a command comes to it in more ways than can be listed (`sh -c`, `python -m`, an import, NODE_OPTIONS, the folder it starts in), so
 * everything in the workspace that looks like code counts, and whatever file a command names. The scripts of agents/ and scripts/ change with
 * every proposal and run in the sandbox: they count once a command, or code that counts, names them.
 */
import { hash, randomBytes } from "node:crypto";
import { join, posix, relative, resolve } from "node:path";
import { lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import type { Json } from "../../kernel/ports.ts";
import { readTrust, type Trust, trustOf } from "./config.ts";
import { AGENTS, ID, SCRIPTS, STATE, TRUST } from "../layout.ts";
import { assertWorkspaceState, keepFor, keptFor, makeOwnFolder, readIfThere, writePrivate } from "../own-folders.ts";
import { codeBelow, codeBeside, pluginFiles } from "../../kernel/registry.ts";

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
  const same = kept.text === hash("sha256", text) && JSON.stringify(broughtCode(dir, trust)) === JSON.stringify(kept.code);
  return same ? { trust } : { before: { trust, code: kept.code } };
}

/** A person, or a script on their behalf, has read this and says that it counts. @throws FOLDER_UNSAFE */
export function keepConfirmation(dir: string, { text, value, code }: Seen): void {
  assertWorkspaceState(dir);
  makeOwnFolder(join(dir, STATE).slice(0, -1));
  // One that came with the folder is known to whoever made the folder.
  writePrivate(join(dir, ID), lastOf(dir)?.id ?? randomBytes(16).toString("hex"));
  keepFor("confirmed", dir, { text: hash("sha256", text), value, code } satisfies Confirmed);
  // Told here and not by the next command.
  lastOf(dir);
}

// Variables that say what an interpreter loads; in another one, a file of data is where a server keeps it.
const INTERPRETER = /^(?:node|npm|python|ruby|perl|bash|zsh|php|lua|java|ld|dyld|env$)/i;
const DATA = /\.(?:jsonl?|csv|tsv|db|sqlite3?|ya?ml|md|log|journal)$/i;
// Code that is read for the names of scripts in it; what is larger is a bundle or a binary.
const READ_BYTES = 1024 * 1024;

/** Hash of each file by path, sorted. Nothing where trust.yaml starts no code. @throws PLUGIN_INVALID when it is too many */
export function broughtCode(dir: string, { plugins, mcp }: Pick<Trust, "plugins" | "mcp">): Record<string, string> {
  const commands = Object.values(mcp).filter(({ command }) => command !== undefined);
  if (commands.length + plugins.length === 0) return {};
  const root = realpathSync(dir);
  const words = commands.flatMap(({ command = "", args, env }) => [
    ...[command, ...args].flatMap(wordsIn),
    ...Object.entries(env).flatMap(([name, value]) => wordsIn(value).filter((word) => INTERPRETER.test(name) || !DATA.test(word))),
  ]);
  const files = [...codeBelow(root, "", true), ...words.flatMap((word) => codeBeside(root, word)), ...pluginFiles(dir, plugins)];
  const all = new Map(files.map(({ path, hash }) => [path, hash]));
  const scripts = [...all].filter(([path]) => path.endsWith(".ts") && (path.startsWith(AGENTS) || path.startsWith(SCRIPTS)));
  for (const [path] of scripts) all.delete(path);
  const count = (from: string, names: string[]): void => {
    const places = names.flatMap((name) => [posix.join(from, name), posix.normalize(name)]).map((place) => place.replace(/\/$/, ""));
    for (const [path, hash] of scripts) {
      if (all.has(path) || !places.some((place) => [place, `${place}.ts`].includes(path) || path.startsWith(`${place}/`))) continue;
      all.set(path, hash);
      count(posix.dirname(path), namesIn(root, path));
    }
  };
  const inside = words.map((word) => relative(root, resolve(root, word))).filter((word) => word !== "");
  count(".", inside);
  // What a tsconfig.json includes is type-checked by it, not run.
  for (const path of [...all.keys()]) if (posix.basename(path) !== "tsconfig.json") count(posix.dirname(path), namesIn(root, path));
  return Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What may be a path in an argument, which a shell or an option may hold. */
const wordsIn = (text: string): string[] =>
  text
    .split(/[\s'"`=,;:|&()<>$]+/)
    .map((word) => word.replace(/\/?[*?{[].*$/, ""))
    .filter((word) => word !== "" && word !== ".");

/** What may be a path in a file of code: text in quotes, up to where it is computed; or where a link leads. */
function namesIn(root: string, path: string): string[] {
  const at = join(root, path);
  if (lstatSync(at).isSymbolicLink()) return [readlinkSync(at)];
  if (statSync(at).size > READ_BYTES) return [];
  const quoted = readFileSync(at, "utf8").matchAll(/["'`]([^"'`\n]*(?:agents|scripts|\.)[^"'`\n]*)/g);
  return [...quoted].map(([, name = ""]) => name.replace(/\/?[?#$*{%].*$/, "")).filter((name) => /[^./]/.test(name));
}
