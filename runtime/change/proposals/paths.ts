/**
 * What a proposal may change: the allow-list of DESIGN.md 8, and forms of a path that would name another file than they show.
 * Invariant: an accepted file is a plain text file inside the workspace that carries no authority of its own.
 */
import { ClearedError } from "../../kernel/errors.ts";
import { AGENTS, CONFIG, DATA, IMPORTERS, KNOWLEDGE, POLICIES, SCRIPTS, WRITTEN_BYTES } from "../../workspace/layout.ts";
import type { Finding, Tree } from "../../kernel/ports.ts";

// A rewrite of a whole workspace is some thirty files.
const MAX_FILES = 200;
const NAME = "[A-Za-z0-9][A-Za-z0-9_-]{0,79}";
const PLAIN = "[\\p{L}\\p{N}_][\\p{L}\\p{N} _.,()+-]{0,119}";
const CASE = new RegExp(`^cases/(?:${PLAIN}/)*${PLAIN}\\.yaml$`, "u");
const ALLOWED = [
  new RegExp(`^${AGENTS}${NAME}\\.ts$`),
  new RegExp(`^${SCRIPTS}(?:${NAME}/)*${NAME}\\.ts$`),
  new RegExp(`^(?:${POLICIES}|${IMPORTERS})${NAME}\\.yaml$`),
  new RegExp(`^${KNOWLEDGE}(?:${PLAIN}/)*${PLAIN}$`, "u"),
  CASE,
];
const WHERE = "agents/NAME.ts, scripts/, policies/NAME.yaml, importers/NAME.yaml, knowledge/, cases/ and config.yaml";

/** True for a path that proposals may change, judged by its name alone. */
export function isProposable(path: string): boolean {
  return wrongForm(path) === null && (path === CONFIG || ALLOWED.some((form) => form.test(path)));
}

/** True for a file of the ratchet. */
export function isCase(path: string): boolean {
  return CASE.test(path);
}

/** Why a path is not a plain name of one file, or null. */
export function wrongForm(path: string): string | null {
  const parts = path.split("/");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u001f\u007f\\]/.test(path) || !path.isWellFormed()) return "has a control character or a backslash";
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) return "does not begin in the workspace";
  if (parts.some((part) => part === "" || part === "." || part === "..")) return "leaves its folder";
  if (parts.some((part) => /^\.git|^git~\d|[ .]$/i.test(part))) return "names a file of git, or ends in a blank or dot";
  if (path !== path.normalize("NFC")) return "is not in Unicode's composed form (NFC)";
  return path.length > 300 ? "is longer than 300 characters" : null;
}

/** Why a file cannot be proposed. */
export function problem(path: string, words: string): Finding {
  const shown = path.slice(0, 200);
  return { code: "PROPOSAL_PATH", at: { file: shown }, message: `"${shown}" ${words}` };
}

/** Why so many files cannot be one proposal, or null. */
export const tooMany = (files: number): string | null =>
  files > MAX_FILES ? `It changes ${files} files; at most ${MAX_FILES} are one proposal.` : null;

/** Why a file of this size cannot be in a proposal, or null. */
export const tooLarge = (bytes: number): string | null =>
  bytes > WRITTEN_BYTES ? `has ${bytes} bytes; a file of a proposal has at most ${WRITTEN_BYTES}.` : null;

/** All reasons why files cannot be proposed; the first is the message. */
export function refused(problems: readonly Finding[]): ClearedError {
  const [first] = problems;
  return new ClearedError("PROPOSAL_PATH", first?.message ?? "", { at: first?.at, data: { findings: problems } });
}

/** Equal for two paths that some file system, or a reader, takes for the same. */
const lookOf = (path: string): string => path.normalize("NFKC").toLowerCase();

/**
 * All reasons why these files (text by path, null removes) cannot be one proposal, in the order of the paths; `head`: the tree they apply to.
 * An accepted case is changed or removed only by a person, with a reason, in a proposal of nothing but cases.
 */
export async function problemsOf(
  files: Readonly<Record<string, string | null>>,
  { by, head, reason = "" }: { by: string; head: Tree; reason?: string },
): Promise<Finding[]> {
  const paths = Object.keys(files).sort();
  const found: Finding[] = [];
  const say = (file: string, words: string) => found.push(problem(file, words));
  const many = tooMany(paths.length);
  if (many !== null) return [{ code: "PROPOSAL_PATH", at: { file: paths[0] ?? "" }, message: many }];
  const neighbours = new Map<string, string>();
  for (const folder of new Set(paths.map((path) => path.slice(0, path.lastIndexOf("/") + 1))))
    for (const { path } of await head.list(folder)) if (files[path] !== null) neighbours.set(lookOf(path), path);
  for (const path of paths) {
    const form = wrongForm(path);
    if (form !== null) say(path, `${form}. Use a plain path inside the workspace.`);
    else if (path.startsWith(DATA))
      say(path, `is a data file: commit it with git, and propose what needs it then. Proposals change ${WHERE}.`);
    else if (!isProposable(path)) say(path, `is not a file that proposals may change: they change ${WHERE}.`);
    else {
      const text = files[path] ?? null;
      const large = text === null ? null : tooLarge(Buffer.byteLength(text));
      if (large !== null) say(path, large);
      if (text !== null && (text.includes("\0") || !text.isWellFormed())) say(path, "is not text in UTF-8.");
      const link = await linkAbove(path, head);
      if (link !== null) say(path, `lies at or below ${link}, which is a link or a folder at HEAD. Proposals change plain files only.`);
      const twin = neighbours.get(lookOf(path));
      if (text !== null && twin !== undefined && twin !== path)
        say(path, `looks like "${twin}" to people and to some file systems. Give it a name of its own.`);
      if (text !== null) neighbours.set(lookOf(path), path);
      if (isCase(path) && (await head.blob(path)) !== null && (await head.read(path)) !== text) {
        if (by.startsWith("agent:")) say(path, "is a case that was accepted; only a person retires one.");
        else if (!paths.every(isCase))
          say(path, "is a case that was accepted; retire it in a proposal of its own, apart from other changes.");
        else if (reason.trim() === "") say(path, "is a case that was accepted; say with --reason why it is retired.");
      }
    }
  }
  return found;
}

/** The first part of the path that is not a folder, or at the end not a file. */
async function linkAbove(path: string, head: Tree): Promise<string | null> {
  const parts = path.split("/");
  for (let depth = 1; depth <= parts.length; depth++) {
    const at = parts.slice(0, depth).join("/");
    const item = await head.item?.(at);
    if (item == null) return null;
    if (depth < parts.length ? item.mode !== "40000" : !item.mode.startsWith("100")) return at;
  }
  return null;
}
