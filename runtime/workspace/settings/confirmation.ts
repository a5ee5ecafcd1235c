/**
 * A person's confirmation of a workspace's trust.yaml on this machine; without one, no part of the file takes effect. It is stored in the
 * user's state folder, for this text, the code it names, this path and the id in `.cleared`: neither a clone, a copy nor an archive carries a
 * confirmation with it, and a pull that changes any of these ends it.
 *
 * The code: a command can load code in more ways than can be listed (`sh -c`, `python -m`, an import, NODE_OPTIONS, its working directory), so
 * everything in the workspace that looks like code counts, and every other file whose name stands in a command or in code that counts. The
 * scripts in agents/ and scripts/ change with every proposal and run in the sandbox: they count only if a command, or code that counts, names them.
 */
import { createHmac, hash, randomBytes } from "node:crypto";
import { join, posix, relative, resolve } from "node:path";
import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, renameSync } from "node:fs";
import type { Json, Sealer } from "../../kernel/ports.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { readTrust, type Trust, trustOf } from "./config.ts";
import { AGENTS, ID, SCRIPTS, STATE, TRUST, FOREIGN_KEY, KEY } from "../layout.ts";
import { assertWorkspaceState } from "../workspace-state.ts";
import { CONFIRMED, keepFor, keptFor, makeOwnFolder, readIfThere, writePrivate } from "../own-folders.ts";
import { behindLink, codeBelow, codeBeside, codeFile, pluginFiles, NO_CODE, leadsIntoState } from "../../kernel/registry.ts";
import { withoutOwn } from "../git/environment.ts";
import { takeAlong } from "./moved.ts";
import { adoptSecrets } from "./secrets.ts";

/** The present trust.yaml, for a person to read and confirm. */
export interface Seen {
  text: string;
  trust: Trust;
  /** The value as written. */
  value: Json;
  /** Hash of each file that plugins and tool servers bring into the workspace as code, by path. */
  code: Record<string, string>;
}

/** `text`: its hash. `seal`: a key that only this user has, hex. `since`: when this workspace was first confirmed here, ms. */
type Confirmed = Pick<Seen, "text" | "value" | "code"> & { seal?: string; since?: number };

/** @throws CONFIG_INVALID, PLUGIN_INVALID */
export function lookAtTrust(dir: string): Seen {
  const text = readIfThere(join(dir, TRUST)) ?? "";
  const { trust, value } = readTrust(text);
  return { text, trust, value, code: broughtCode(dir, trust) };
}

/** The last confirmation for the workspace at this path, whatever has changed since; null if there is none. @throws FOLDER_UNSAFE */
const lastOf = (dir: string) => keptFor<Confirmed>(CONFIRMED, dir);

/** trust.yaml if a person has confirmed exactly this text and code here; else the earlier confirmation, or null. @throws CONFIG_INVALID, FOLDER_UNSAFE */
export function confirmedTrust(dir: string, text: string): { trust: Trust } | { before: Omit<Seen, "text"> | null } {
  const kept = lastOf(dir);
  if (kept === null) return { before: null };
  const trust = stillValid(kept.value);
  if (trust === null) return { before: null };
  const same = kept.text === hash("sha256", text) && JSON.stringify(broughtCode(dir, trust)) === JSON.stringify(kept.code);
  return same ? { trust } : { before: { trust, value: kept.value, code: kept.code } };
}

/** A file that an older version confirmed; null if it is refused now. */
function stillValid(value: Json): Trust | null {
  try {
    return trustOf(value);
  } catch {
    return null;
  }
}

/** Stores a confirmation by a person, or by a script on their behalf. @throws FOLDER_UNSAFE */
export function keepConfirmation(dir: string, { text, value, code }: Seen): void {
  assertWorkspaceState(dir);
  makeOwnFolder(join(dir, STATE).slice(0, -1));
  if (lastOf(dir) === null && existsSync(join(dir, KEY))) renameSync(join(dir, KEY), join(dir, FOREIGN_KEY));
  if (lastOf(dir) === null) takeAlong(dir);
  // An id that came with the folder is known to its maker, so a new one is made.
  writePrivate(join(dir, ID), lastOf(dir)?.id ?? randomBytes(16).toString("hex"));
  const { seal = randomBytes(32).toString("hex"), since = 0 } = lastOf(dir) ?? { since: Date.now() };
  keepFor(CONFIRMED, dir, { text: hash("sha256", text), value, code, seal, since } satisfies Confirmed);
  adoptSecrets(dir);
  // Throws FOLDER_UNSAFE now, not at the next command.
  lastOf(dir);
}

// Without a confirmation, what this process writes counts for as long as it runs.
const UNCONFIRMED = randomBytes(32).toString("hex");

/** @throws FOLDER_UNSAFE */
export function sealerOf(dir: string): Sealer {
  const key = lastOf(dir)?.seal ?? UNCONFIRMED;
  return (...parts) => createHmac("sha256", key).update(JSON.stringify(parts)).digest("base64url");
}

/** Until when something may have been done where this folder came from: its first confirmation here, ms. @throws FOLDER_UNSAFE */
export const confirmedSince = (dir: string): number => lastOf(dir)?.since ?? 0;

// Variables that name code for an interpreter to load. A data file named in any other variable is just data of the server.
const INTERPRETER = /^(?:node|npm|python|ruby|perl|bash|zsh|php|lua|java|ld|dyld|env$)/i;
const DATA = /\.(?:jsonl?|csv|tsv|db|sqlite3?|ya?ml|md|log|journal)$/i;
// What Cleared writes, and what is confirmed by itself: their names may stand in code.
const OWN = /^(?:(?:import|journal|audit)\/|(?:config|trust)\.yaml$|main\.journal$)/;
// Code up to this size is searched for names of files; larger files are bundles or binaries.
const READ_BYTES = 1024 * 1024;

/** Hash of each file of code by path, sorted; empty if trust.yaml starts no code. @throws PLUGIN_INVALID when there are too many */
export function broughtCode(dir: string, { plugins, mcp }: Pick<Trust, "plugins" | "mcp">): Record<string, string> {
  const commands = Object.values(mcp).filter(({ command }) => command !== undefined);
  if (commands.length + plugins.length === 0) return {};
  const root = realpathSync(dir);
  for (const [name, server] of Object.entries(mcp)) assertOutsideState(root, name, server);
  const words = commands.flatMap(({ command = "", args, env }) => [
    ...[command, ...args].flatMap(wordsIn),
    ...Object.entries(env).flatMap(([name, value]) => wordsIn(value).filter((word) => INTERPRETER.test(name) || !DATA.test(word))),
  ]);
  const others: string[] = [];
  const files = [...codeBelow(root, "", true, others), ...words.flatMap((word) => codeBeside(root, word)), ...pluginFiles(dir, plugins)];
  const all = new Map(files.map(({ path, hash }) => [path, hash]));
  const scripts = [...all].filter(([path]) => path.endsWith(".ts") && (path.startsWith(AGENTS) || path.startsWith(SCRIPTS)));
  for (const [path] of scripts) all.delete(path);
  /** Scripts also by their folder, or without their ending. */
  const count = (from: string, names: string[]): void => {
    const places = names.flatMap((name) => [posix.join(from, name), posix.normalize(name)]).map((place) => place.replace(/\/$/, ""));
    for (const [path, hash] of scripts)
      if (places.some((place) => [place, `${place}.ts`].includes(path) || path.startsWith(`${place}/`))) all.set(path, hash);
  };
  const inside = words.map((word) => relative(root, resolve(root, word))).filter((word) => word !== "");
  count(".", inside);
  const known = new Set(words.flatMap((word) => namesOf(word, true)));
  const data = others.filter((path) => !OWN.test(path) && !(path.startsWith(STATE) && DATA.test(path)));
  const unnamed = new Map([...data, ...scripts.map(([path]) => path)].map((path) => [path, partsOf(path)]));
  // In rounds: what is named may name more.
  for (let searched = 0; searched < all.size; ) {
    const last = [...all.keys()].slice(searched);
    searched = all.size;
    for (const path of last) {
      // A tsconfig.json includes files to type-check them, not to run them.
      const text = posix.basename(path) === "tsconfig.json" ? "" : textOf(root, path);
      for (const name of namesOf(`${path} ${text}`, !QUOTING.test(path))) known.add(name);
      count(posix.dirname(path), namesIn(text));
    }
    const named = [...unnamed].flatMap(([path, parts]) => (parts.every((part) => known.has(part)) ? path : []));
    for (const path of named) unnamed.delete(path);
    for (const path of withoutOwn(root, named, (one) => DATA.test(one))) all.set(path, codeFile(root, path).hash);
  }
  return Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Refuses a server whose program, or a file it may load, is in `.cleared`, which changes without a confirmation. Data may be there: in an
 * argument after that of a program, or in a variable of the server's own. @throws PLUGIN_INVALID
 */
function assertOutsideState(root: string, name: string, { command, args, env }: Trust["mcp"][string]): void {
  if (command === undefined) return;
  const program = args.findIndex((arg) => !arg.startsWith("-"));
  const found = [
    ...[command, ...args].flatMap((arg, i) => wordsIn(arg).filter((word) => program === -1 || i - 1 <= program || !DATA.test(word))),
    ...Object.entries(env).flatMap(([key, value]) => wordsIn(value).filter((word) => INTERPRETER.test(key) || !DATA.test(word))),
  ].find((word) => leadsIntoState(root, word));
  if (found !== undefined)
    throw new ClearedError("PLUGIN_INVALID", `The tool server ${name} names ${found}, which is in .cleared, ${NO_CODE}.`, {
      at: { file: TRUST },
    });
}

/** Possible paths in an argument, which may be an option or a shell command. */
const wordsIn = (text: string): string[] =>
  text
    .split(/[\s'"`=,;:|&()<>$]+/)
    .map((word) => word.replace(/\/?[*?{[].*$/, ""))
    .filter((word) => word !== "" && word !== ".");

/** The text of a file of code, with the target of a link; empty for one that is too large. */
function textOf(root: string, path: string): string {
  const at = join(root, path);
  const target = lstatSync(at).isSymbolicLink() ? `"${readlinkSync(at)}"\n` : "";
  const found = behindLink(at);
  return found?.isFile() === true && found.size <= READ_BYTES ? target + readFileSync(at, "utf8") : target;
}

// Where any word may be the name of a file without an ending; in these languages it stands behind a quote or a slash.
const QUOTING = /\.(?:[cm]?[jt]sx?|pyw?|rb|p[lm]|php|lua|r|go|rs|java|cs?|cpp|h)$/i;

/** Names in a text that can be parts of a path, in any case; one without an ending, where it may be that of a file, also with a slash. */
function namesOf(text: string, isBare: boolean): string[] {
  const found = new Set(text.toLowerCase().match(/["'`/]?\.?[\w\u0080-\uffff-]+(?:\.[\w\u0080-\uffff-]+)*/g));
  return [...found].flatMap((one) => {
    const name = one.replace(/^["'`/]/, "");
    return !name.includes(".") && (isBare || name !== one) ? [name, `/${name}`] : name;
  });
}

/**
 * What must stand in the code for this file to count. Its name and its folders may stand anywhere: `cd lib; . x.txt`, `"$(dirname $0)/x.txt"`
 * and `join(here, "lib", "x.txt")` load the same file.
 */
function partsOf(path: string): string[] {
  const name = posix.basename(path);
  const [first = "", ...more] = namesOf(name, false);
  return [...namesOf(posix.dirname(path), false), name.includes(".") ? first : `/${first}`, ...more];
}

/** Scripts that a file of code may name: quoted texts, up to their first computed part. */
function namesIn(text: string): string[] {
  const quoted = text.matchAll(/["'`]([^"'`\n]*(?:agents|scripts|\.)[^"'`\n]*)/g);
  return [...quoted].map(([, name = ""]) => name.replace(/\/?[?#$*{%].*$/, "")).filter((name) => /[^./]/.test(name));
}
