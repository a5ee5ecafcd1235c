/**
 * What the branch says of proposals: a commit with the trailer `Proposal:` applies one, a later commit that reverts it (git's own words,
 * or the trailer `Reverts:`) takes it back, and reverting that brings it again. Looked through once, then only what is new.
 */
import { getFact, setFact } from "../../engine/cards.ts";
import type { Database } from "../../engine/database.ts";
import type { Git } from "../../kernel/ports.ts";
import { isOurs, type PastCommit, parseTrailers } from "../../workspace/git/past.ts";
import type { SideRefs } from "../../workspace/git/proposal-refs.ts";

export interface BranchMark {
  applied: string;
  /** The commit that took it back, or null while it stands. */
  reverted: string | null;
  /** When the last of them was made, ms. */
  at: number;
}

export interface BranchMarks {
  /** By proposal id, as of HEAD of the branch. */
  now(): Promise<ReadonlyMap<string, BranchMark>>;
}

interface Seen {
  head: string;
  marks: Record<string, BranchMark>;
  /** Proposal by each commit that applied it or took it back. */
  commits: Record<string, string>;
}

const FACT = "proposals on the branch";
const TEXTS = ["Proposal: prop_", "Reverts: ", "This reverts commit "];

export function createBranchMarks({ database, git }: { database: Database; git: Git }, refs: SideRefs): BranchMarks {
  let seen: Seen | null = null;

  return {
    async now() {
      const head = await git.head();
      if (seen === null) seen = JSON.parse(getFact(database, FACT) ?? "null") as Seen | null;
      if (seen?.head !== head) {
        const since = seen === null ? null : await refs.mentioning(TEXTS, seen.head, head);
        const fresh = since ?? (await refs.mentioning(TEXTS, null, head)) ?? [];
        // A branch that was set back is read anew from its beginning.
        const next: Seen = since === null || seen === null ? { head, marks: {}, commits: {} } : { ...structuredClone(seen), head };
        for (const line of fresh) mark(next, line);
        seen = next;
        setFact(database, FACT, JSON.stringify(seen));
      }
      return new Map(Object.entries(seen.marks));
    },
  };
}

function mark({ marks, commits }: Seen, { commit, at, message }: PastCommit): void {
  const trailers = parseTrailers(message);
  // In a commit of ours the text is a script's or a proposer's, who could say of any commit that it is taken back.
  const words = isOurs(trailers) ? undefined : /^This reverts commit ([0-9a-f]{40,64})\b/m.exec(message)?.[1];
  const undone = trailers["Reverts"] ?? words;
  const id = undone === undefined ? trailers["Proposal"] : marks[undone] === undefined ? commits[undone] : undone;
  if (id === undefined || !/^prop_\w+$/.test(id)) return;
  const now = marks[id];
  commits[commit] = id;
  if (undone === undefined) marks[id] = { applied: commit, reverted: null, at };
  // Of a commit that took it back: it stands again. Anything else of an older round says nothing about this one.
  else if (now !== undefined && undone === now.reverted) marks[id] = { applied: commit, reverted: null, at };
  else if (now !== undefined && (undone === now.applied || undone === id)) marks[id] = { ...now, reverted: commit, at };
}
