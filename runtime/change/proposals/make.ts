/**
 * Proposals made by hand: from edits in the working tree, from a branch, from a folder laid out like a workspace. Order: the intent is
 * written, the proposal is durable and checked, then its edits leave the working tree. After a kill in between, the next call completes it; after
 * an error they are still there.
 */
import { isUtf8 } from "node:buffer";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { lstat, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import type { Finding, Tree } from "../../kernel/ports.ts";
import { namedUpTo } from "../../kernel/text.ts";
import { type Edit, type ReadEdit, editsOf, readEdits, takeBack } from "../../workspace/git/working-edits.ts";
import { createSideRefs } from "../../workspace/git/proposal-refs.ts";
import { STATE } from "../../workspace/layout.ts";
import { writePrivate } from "../../workspace/own-folders.ts";
import { isProposable, problem, refused, tooLarge, tooMany } from "./paths.ts";
import { type ProposalWorld, createProposals } from "./store.ts";
import type { Proposal, ProposalDraft } from "../proposal-types.ts";

/** What a proposal says about itself, wherever its files come from. */
export type Wording = Omit<ProposalDraft, "files">;

export interface Made {
  proposal: Proposal;
  /** An identical proposal already existed. */
  known: boolean;
  /** Edits that were left in the working tree, because proposals may not change such files or they were not named. */
  left: string[];
  /** Paths edited again while the proposal was made: the file has the newer edit. */
  kept: string[];
}

/** Written before the proposal is made, removed when its edits have left the working tree. */
interface Intent {
  draft: ProposalDraft;
  base: string;
  edits: Pick<ReadEdit, "path" | "item" | "intent">[];
}

// More than any workspace has in the folders that proposals may change.
const MAX_FILES = 2000;

const recordOf = (dir: string): string => join(dir, STATE, "propose.json");

/**
 * Proposes edits of the working tree: all that proposals may change, or those in `paths` (files and folders). The edits leave the working tree
 * and the index once `check` has returned. @throws PROPOSAL_EMPTY, PROPOSAL_PATH, GIT_STATE, USAGE for a named path without an edit, what `check` throws
 */
export async function proposeEdits(
  world: ProposalWorld,
  wording: Wording,
  paths: readonly string[],
  check?: (proposal: Proposal) => Promise<unknown>,
): Promise<Made> {
  const { dir, git } = world;
  const store = createProposals(world);
  const blocked = await git.blockedBy();
  if (blocked !== null) throw new ClearedError("GIT_STATE", blocked);
  const finished = await finishProposing(world);
  const edits = await editsOf(dir);
  const { chosen, left } = choose(edits, paths, finished !== null);
  if (chosen.length === 0) {
    if (finished !== null) return { ...finished, known: true, left };
    throw new ClearedError("PROPOSAL_EMPTY", nothing(left));
  }
  assertFew(chosen.length);
  const odd: Finding[] = [];
  for (const { path, odd: why, removed } of chosen) {
    const large = removed || why !== null ? null : tooLarge((await lstat(join(dir, path))).size);
    if (why !== null || large !== null) odd.push(problem(path, large ?? `${why}.`));
  }
  if (odd.length > 0) throw refused(odd);
  const base = await git.head();
  const read = await readEdits(dir, base, chosen);
  const binary = read.filter((edit) => edit.binary).map((edit) => problem(edit.path, "is not text in UTF-8."));
  if (binary.length > 0) throw refused(binary);
  const draft = { ...wording, files: Object.fromEntries(read.map(({ path, text }) => [path, text])) };
  write(dir, { draft, base, edits: read.map(({ path, item, intent }) => ({ path, item, intent })) });
  const made = await createChecked().catch((error: unknown) => {
    // The edits are all in place, and proposing them again finds the proposal if it was made.
    forget(dir);
    throw error;
  });
  const kept = await takeBack(dir, await git.head(), read);
  forget(dir);
  return { ...made, left, kept };

  async function createChecked(): Promise<Pick<Made, "proposal" | "known">> {
    const created = await store.create(draft, base);
    await check?.(created.proposal);
    return created;
  }
}

/** Completes an interrupted call: the edits of a recorded proposal leave the working tree. Null if nothing was interrupted. */
export async function finishProposing(world: ProposalWorld): Promise<{ proposal: Proposal; kept: string[] } | null> {
  const { dir, git } = world;
  if (!existsSync(recordOf(dir))) return null;
  const intent = parseIntent(readFileSync(recordOf(dir), "utf8"));
  const proposal = intent === null ? null : (await createProposals(world).placeOf(intent.draft, intent.base)).last;
  // Killed before the proposal was made: the edits are still in place, and the person can propose them again.
  const kept = intent === null || proposal === null ? [] : await takeBack(dir, await git.head(), intent.edits);
  forget(dir);
  return proposal === null ? null : { proposal, kept };
}

/** Proposes what a branch changes since it left the branch of the workspace. The working tree is not touched. */
export async function proposeBranch(world: ProposalWorld, wording: Wording, branch: string): Promise<Made> {
  const refs = createSideRefs(world.dir);
  const { base, tip } = await refs.fork(await world.git.head(), branch);
  const files: Record<string, string | null> = {};
  const problems: Finding[] = [];
  const changed = await world.git.objects.changes(base, tip);
  assertFew(changed.length);
  for (const { path, now } of changed) {
    const bytes = now === null ? null : await world.git.objects.find(now.oid);
    const large = tooLarge(bytes?.bytes.length ?? 0);
    if (now !== null && !now.mode.startsWith("100"))
      problems.push(problem(path, "is a link or a submodule; proposals change plain files only."));
    else if (large !== null) problems.push(problem(path, large));
    else if (bytes !== null && !isText(bytes.bytes)) problems.push(problem(path, "is not text in UTF-8."));
    else files[path] = bytes?.bytes.toString("utf8") ?? null;
  }
  const empty = `The branch "${branch}" changes nothing since ${base.slice(0, 7)}, where it began.`;
  return proposeFiles(world, { ...wording, files }, base, problems, empty);
}

/** Proposes the files of a folder laid out like a workspace that differ from HEAD. */
export async function proposeFolder(world: ProposalWorld, wording: Wording, folder: string): Promise<Made> {
  const base = await world.git.head();
  const tree = world.git.tree(base);
  const files: Record<string, string | null> = {};
  const problems: Finding[] = [];
  for (const path of await filesBelow(folder)) {
    const found = await fileText(join(folder, path), path, tree);
    if (typeof found === "string") files[path] = found;
    else if (found !== null) problems.push(found);
  }
  const empty = `No file in ${folder} differs from HEAD. Lay it out like the workspace: agents/NAME.ts and so on.`;
  return proposeFiles(world, { ...wording, files }, base, problems, empty);
}

/** `empty`: the message if there is no file. @throws PROPOSAL_PATH, PROPOSAL_EMPTY */
async function proposeFiles(world: ProposalWorld, draft: ProposalDraft, base: string, problems: Finding[], empty: string): Promise<Made> {
  if (problems.length > 0) throw refused(problems);
  if (Object.keys(draft.files).length === 0) throw new ClearedError("PROPOSAL_EMPTY", empty);
  return { ...(await createProposals(world).create(draft, base)), left: [], kept: [] };
}

/** Text of a file that differs from the tree; null for one that does not. */
async function fileText(file: string, path: string, tree: Tree): Promise<string | Finding | null> {
  const stat = await lstat(file);
  if (!stat.isFile()) return problem(path, "is a link or no plain file.");
  const large = tooLarge(stat.size);
  if (large !== null) return isProposable(path) ? problem(path, large) : null;
  const bytes = await readFile(file);
  if (!isText(bytes)) return problem(path, "is not text in UTF-8.");
  const text = bytes.toString("utf8");
  return text === (await tree.read(path)) ? null : text;
}

/** Paths below a folder, without git's and Cleared's own folders. @throws FILE_MISSING, PROPOSAL_PATH when there are too many */
async function filesBelow(folder: string): Promise<string[]> {
  if (!existsSync(folder)) throw new ClearedError("FILE_MISSING", `There is no folder ${folder}.`);
  const found: string[] = [];
  const look = async (below: string): Promise<void> => {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (below === "" && (entry.name === ".git" || `${entry.name}/` === STATE)) continue;
      if (entry.isDirectory()) await look(path);
      else found.push(path);
      if (found.length > MAX_FILES)
        throw new ClearedError("PROPOSAL_PATH", `${folder} holds more than ${MAX_FILES} files. Name a folder of those to propose only.`);
    }
  };
  await look("");
  return found.sort();
}

/** Before any is read. @throws PROPOSAL_PATH */
function assertFew(files: number): void {
  const many = tooMany(files);
  if (many !== null) throw new ClearedError("PROPOSAL_PATH", many);
}

/** The edits to propose, and the others by name. @throws USAGE, PROPOSAL_PATH */
function choose(edits: readonly Edit[], paths: readonly string[], goingOn: boolean): { chosen: Edit[]; left: string[] } {
  const names = paths.map((path) => path.replace(/\/+$/, ""));
  const isNamed = ({ path }: Edit, name: string) => path === name || name === "" || path.startsWith(`${name}/`);
  for (const name of names)
    if (!goingOn && !edits.some((edit) => isNamed(edit, name)))
      throw new ClearedError("USAGE", `"${name}" has no edit since HEAD. \`git status\` shows what is edited.`);
  const refusedPaths = edits.filter((edit) => names.includes(edit.path) && !isProposable(edit.path));
  if (refusedPaths.length > 0)
    throw refused(refusedPaths.map(({ path }) => problem(path, "is not a file that proposals may change; commit it with plain git.")));
  const chosen = edits.filter((edit) => isProposable(edit.path) && (names.length === 0 || names.some((name) => isNamed(edit, name))));
  return { chosen, left: edits.filter((edit) => !chosen.includes(edit)).map(({ path }) => path) };
}

function nothing(left: readonly string[]): string {
  if (left.length === 0) return "Nothing is edited since HEAD, so there is nothing to propose.";
  return `None of what is edited may be changed by a proposal: ${namedUpTo(left, 5)}.`;
}

const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0);

function write(dir: string, intent: Intent): void {
  mkdirSync(join(dir, STATE), { recursive: true, mode: 0o700 });
  writePrivate(recordOf(dir), JSON.stringify(intent));
}

const forget = (dir: string): void => rmSync(recordOf(dir), { force: true });

/** Ours is renamed into place whole; any other text was not written by Cleared and is ignored. */
function parseIntent(text: string): Intent | null {
  try {
    const intent = JSON.parse(text) as Intent;
    const plain = intent.edits.every(({ path }) => isProposable(path)) && typeof intent.draft.files === "object";
    return plain && /^[0-9a-f]{40,64}$/.test(intent.base) ? intent : null;
  } catch {
    return null;
  }
}
