/** Reads the refs of proposals from git, each once: the meaning of a pair of object ids never changes. */
import type { DiskCache } from "../../scripts/disk-cache.ts";
import { ClearedError, toWire } from "../../kernel/errors.ts";
import type { SideRefs } from "../../workspace/git/proposal-refs.ts";
import { type Kept, readProposal } from "./document.ts";
import { getFact, setFact } from "../../engine/store/facts.ts";
import type { Database } from "../../engine/store/database.ts";
import type { Git, Objects } from "../../kernel/ports.ts";
import { isOurs, newestSince, type PastCommit, parseTrailers } from "../../workspace/git/past.ts";

export const REFS = "refs/cleared/proposals/";
const LASTING = new Set(["PROPOSAL_UNKNOWN", "FILE_TOO_LARGE"]);
const ID = /^prop_[0-9A-HJKMNP-TV-Z]{10}$/;

/** Commits of one proposal: its content, and the newest of its history. */
export interface ProposalRefs {
  change?: string;
  state?: string;
}

export type ReadRefs = { kept: Kept; state: string | null } | { why: string };

/** Refs below a folder by proposal; other names there are ignored. */
export function groupRefs(list: ReadonlyMap<string, string>, folder: string): Map<string, ProposalRefs> {
  const found = new Map<string, ProposalRefs>();
  for (const [name, oid] of list) {
    const [id = "", part = "", ...more] = name.slice(folder.length).split("/");
    if (more.length === 0 && (part === "change" || part === "state")) found.set(id, { ...found.get(id), [part]: oid });
  }
  return found;
}

/** @throws PROPOSAL_UNKNOWN */
export function assertId(id: string): void {
  if (!ID.test(id)) throw new ClearedError("PROPOSAL_UNKNOWN", "its name is not that of a proposal");
}

/** Returns all proposals of the repository by id, or why one cannot be read. */
export function createReader(refs: SideRefs, objects: Objects, cache: DiskCache): () => Promise<Map<string, ReadRefs>> {
  const memo = new Map<string, ReadRefs>();
  const keyOf = (id: string, { change = "", state = "" }: ProposalRefs) => `${id} ${change} ${state}`;
  return async () => {
    const found = groupRefs(await refs.list(REFS), REFS);
    const damaged = new Map<string, string>();
    for (const [id, one] of found) {
      if (memo.has(keyOf(id, one))) continue;
      try {
        assertId(id);
        memo.set(keyOf(id, one), { kept: await readProposal(objects, id, one, cache), state: one.state ?? null });
      } catch (error) {
        const why = toWire(error).message;
        damaged.set(id, why);
        // A missing object may arrive with the next fetch.
        if (error instanceof ClearedError && LASTING.has(error.code)) memo.set(keyOf(id, one), { why });
      }
    }
    return new Map([...found].map(([id, one]) => [id, memo.get(keyOf(id, one)) ?? { why: damaged.get(id) ?? "it was not read" }]));
  };
}

export interface BranchMark {
  applied: string;
  /** The commit that reverted it, or null while it is in force. */
  reverted: string | null;
  /** When the last of them was made, ms. */
  at: number;
}

interface Seen {
  head: string;
  marks: Record<string, BranchMark>;
  /** Proposal by each commit that applied or reverted it. */
  commits: Record<string, string>;
}

const FACT = "proposals on the branch";
const TEXTS = ["Proposal: prop_", "Reverts: ", "This reverts commit "];

/**
 * What the branch says about proposals, by id, as of HEAD: a commit with the trailer `Proposal:` applies one, a later commit that reverts it
 * (git's own wording, or the trailer `Reverts:`) takes it back, and reverting that one restores it. Scanned once, later only for new commits.
 */
export function createBranchMarks({ database, git }: { database: Database; git: Git }, refs: SideRefs) {
  let seen: Seen | null = null;
  return async (): Promise<ReadonlyMap<string, BranchMark>> => {
    const head = await git.head();
    if (seen === null) seen = JSON.parse(getFact(database, FACT) ?? "null") as Seen | null;
    if (seen?.head !== head) {
      const near = await newestSince(git.objects, seen?.head ?? null, head);
      const since = near ?? (seen === null ? null : await refs.mentioning(TEXTS, seen.head, head));
      const fresh = since ?? (await refs.mentioning(TEXTS, null, head)) ?? [];
      // A branch that was reset is scanned from its beginning.
      const next: Seen = since === null || seen === null ? { head, marks: {}, commits: {} } : { ...structuredClone(seen), head };
      for (const line of fresh) mark(next, line);
      seen = next;
      setFact(database, FACT, JSON.stringify(seen));
    }
    return new Map(Object.entries(seen.marks));
  };
}

function mark({ marks, commits }: Seen, { commit, at, message }: Pick<PastCommit, "commit" | "at" | "message">): void {
  const trailers = parseTrailers(message);
  // In Cleared's commits the text comes from a script or proposer, who could claim that any commit is reverted.
  const words = isOurs(trailers) ? undefined : /^This reverts commit ([0-9a-f]{40,64})\b/m.exec(message)?.[1];
  const undone = trailers["Reverts"] ?? words;
  const id = undone === undefined ? trailers["Proposal"] : marks[undone] === undefined ? commits[undone] : undone;
  if (id === undefined || !/^prop_\w+$/.test(id)) return;
  const now = marks[id];
  commits[commit] = id;
  if (undone === undefined) marks[id] = { applied: commit, reverted: null, at };
  // The reverting commit was itself reverted. Anything else from an earlier round says nothing about this one.
  else if (now !== undefined && undone === now.reverted) marks[id] = { applied: commit, reverted: null, at };
  else if (now !== undefined && (undone === now.applied || undone === id)) marks[id] = { ...now, reverted: commit, at };
}
