/** The refs of proposals as git has them, each read once: what a pair of object ids means never changes. */
import type { DiskCache } from "../../scripts/disk-cache.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { type Difference, type SideRefs, parseCommit } from "../../workspace/git/proposal-refs.ts";
import { type Kept, readProposal, whyOf } from "./document.ts";

export const REFS = "refs/cleared/proposals/";
const ID = /^prop_[0-9A-HJKMNP-TV-Z]{10}$/;

/** Commits of one proposal: its content, and the newest of its life. */
export interface ProposalRefs {
  change?: string;
  state?: string;
}

export type ReadRefs = { kept: Kept; state: string | null } | { why: string };

/** Refs below a folder by the name of their proposal; what else lies there is nobody's. */
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

/** Answers all proposals of the repository by id, or why one cannot be read: one command for the refs, and one for what is new. */
export function createReader(refs: SideRefs, cache: DiskCache): () => Promise<Map<string, ReadRefs>> {
  const memo = new Map<string, ReadRefs>();
  const differences = new Map<string, Difference[]>();
  const keyOf = (id: string, { change = "", state = "" }: ProposalRefs) => `${id} ${change} ${state}`;
  return async () => {
    const found = groupRefs(await refs.list(REFS), REFS);
    const damaged = new Map<string, string>();
    const unread = [...found].filter(([id, one]) => !memo.has(keyOf(id, one)));
    if (unread.length > 0) {
      await refs.read(async (objects) => {
        const commits = new Set<string>();
        for (const [, { change = "" }] of unread)
          if (!differences.has(change) && parseCommit(await objects.find(change || "-")) !== null) commits.add(change);
        for (const [commit, changed] of await refs.differences([...commits])) differences.set(commit, changed);
        for (const [id, one] of unread) {
          try {
            assertId(id);
            memo.set(keyOf(id, one), { kept: await readProposal(objects, id, one, differences, cache), state: one.state ?? null });
          } catch (error) {
            const why = whyOf(error);
            damaged.set(id, why);
            // An object that is missing may come with the next fetch.
            if (error instanceof ClearedError && error.code === "PROPOSAL_UNKNOWN") memo.set(keyOf(id, one), { why });
          }
        }
      });
    }
    return new Map([...found].map(([id, one]) => [id, memo.get(keyOf(id, one)) ?? { why: damaged.get(id) ?? "it was not read" }]));
  };
}
