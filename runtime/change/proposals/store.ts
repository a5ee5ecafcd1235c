/**
 * The proposals of a workspace. Git is authoritative: content on refs/cleared/proposals/<id>/change, history as a chain of commits on .../state
 * that only moves by compare-and-swap; the branch shows what is applied and reverted. The run store only numbers them.
 */
import { createHash } from "node:crypto";
import { minuteOf } from "../../kernel/day.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import { NOTHING_ASKED } from "../../engine/store/cards.ts";
import type { Database } from "../../engine/store/database.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { Card, Cards, Clock, Decision, Git, Json, Tree } from "../../kernel/ports.ts";
import { createSideRefs } from "../../workspace/git/proposal-refs.ts";
import { cacheOf } from "../../workspace/own-folders.ts";
import { sourceBlob } from "../../workspace/git/tree.ts";
import { type BranchMark, createBranchMarks, REFS, type ReadRefs, createReader } from "./refs.ts";
import { type Signing, sealAuthor, signAuthor } from "./author.ts";
import { isOwnReport } from "./deciding.ts";
import { type Kept, type ProposalStatusRecord, changeMessage, statusFiles } from "./document.ts";
import { problemsOf, refused } from "./paths.ts";
import { type Proposal, type ProposalDraft, type ProposalState, type Report, stateWord } from "../proposal-types.ts";

/** What the store needs of a workspace; `Host` (app/host.ts) provides it. */
export interface ProposalWorld extends Signing {
  dir: string;
  git: Git;
  database: Database;
  cards: Cards;
  clock: Clock;
}

/** A change of a proposal's state. Omitted fields stay, except `why`, which is removed. */
export interface Transition {
  state: ProposalState;
  why?: string | null;
  report?: Report;
  /** Appended to its decisions. */
  decisions?: readonly Decision[];
  applied?: string;
  reverted?: string;
  /** Who did it: a person; "runtime" by default. */
  by?: string;
  /** Subject of the commit that records it; by default a sentence from state and `by`. */
  says?: string;
}

export type ProposalStore = ReturnType<typeof assemble>;

/** States without a decision, and states in which it is still open. */
export const UNDECIDED: readonly ProposalState[] = ["draft", "checking", "ready", "unproven", "blocked"];
export const OPEN: readonly ProposalState[] = [...UNDECIDED, "approved"];
/** States in which it waits for a person's decision. */
export const ASKING: readonly ProposalState[] = ["ready", "unproven"];

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
// Each loss means that another process moved the same ref in the same milliseconds.
const TRIES = 20;

// Cached as long as the run store is open.
const stores = new WeakMap<Database, ProposalStore>();

/** The only store of an open workspace. */
export function createProposals(world: ProposalWorld): ProposalStore {
  return stores.getOrInsertComputed(world.database, () => assemble(world));
}

function assemble(world: ProposalWorld) {
  const { dir, git, clock } = world;
  const refs = createSideRefs(dir);
  const readAll = createReader(refs, git.objects, cacheOf(dir));
  const marks = createBranchMarks(world, refs);
  const cards = createProposalCards(world);

  /** The branch decides what is applied and reverted, even where the chain of states lags behind. */
  function onBranch(kept: Kept, mark: BranchMark | undefined): Kept {
    if (mark === undefined) {
      const why = `Its commit ${kept.applied?.slice(0, 7) ?? ""} is not on this branch: it is not pulled yet, or was taken away.`;
      return kept.state === "applied" ? { ...kept, why } : kept;
    }
    const { applied, reverted } = mark;
    const state = reverted === null ? "applied" : "reverted";
    if (state === kept.state) return { ...kept, applied, reverted };
    const why = reverted === null ? null : `Commit ${reverted.slice(0, 7)} took it back.`;
    return { ...kept, state, why, since: mark.at, applied, reverted };
  }

  const isForeign = (one: Kept) => ASKING.includes(one.state) && one.report !== null && !isOwnReport(world.database, one);

  async function listed(all?: ReadonlyMap<string, ReadRefs>): Promise<Proposal[]> {
    all ??= await readAll();
    const marked = await marks();
    const kept = [...all.values()].flatMap((one) => ("kept" in one ? [onBranch(one.kept, marked.get(one.kept.id))] : []));
    const numbers = cards.follow(kept);
    const rank = (state: ProposalState) => (OPEN.includes(state) ? 0 : 1);
    return kept
      .map((one) => ({ ...one, number: numbers.get(one.id) ?? 0, ...(isForeign(one) ? { isForeign: true as const } : {}) }))
      .sort((a, b) => rank(a.state) - rank(b.state) || b.at - a.at || b.number - a.number);
  }

  async function get(id: string | number, all?: ReadonlyMap<string, ReadRefs>): Promise<Proposal> {
    const found = (await listed(all)).find((one) => (typeof id === "number" ? one.number === id : one.id === id));
    if (found !== undefined) return found;
    const damaged = (await readAll()).get(typeof id === "string" ? id : (cards.proposalOf(id) ?? ""));
    const why = damaged !== undefined && "why" in damaged ? damaged.why.replace(/\.$/, "") : null;
    const said = why === null ? `There is no proposal ${id}` : `Proposal ${id} is unreadable: ${why}`;
    throw new ClearedError("PROPOSAL_UNKNOWN", `${said}. \`cleared proposals\` lists them.`);
  }

  async function needed(draft: ProposalDraft, base: string): Promise<Record<string, string | null>> {
    const tree = git.tree(base);
    const problems = await problemsOf(draft.files, { by: draft.by, head: tree, reason: draft.reason });
    if (problems.length > 0) throw refused(problems);
    const files: Record<string, string | null> = {};
    for (const path of Object.keys(draft.files).sort()) {
      const text = draft.files[path] ?? null;
      if ((await tree.read(path)) !== text) files[path] = text;
    }
    const empty = `"${draft.title.slice(0, 100)}" changes nothing: its files are as they are at ${base.slice(0, 7)}.`;
    if (Object.keys(files).length === 0) throw new ClearedError("PROPOSAL_EMPTY", empty);
    return files;
  }

  /** The id that this draft has or will get: a rejected or reverted one allows another try. */
  async function place(draft: ProposalDraft, base: string, files: Record<string, string | null>) {
    const read = await readAll();
    const all = new Map((await listed(read)).map((one) => [one.id, one]));
    let last: Proposal | null = null;
    for (let again = 0; ; again++) {
      const id = idOf(draft, base, files, again);
      const there = all.get(id);
      if (there === undefined && !read.has(id)) return { id, open: null, last };
      last = there ?? last;
      if (there !== undefined && (OPEN.includes(there.state) || (there.state === "applied" && (await marks()).has(id))))
        return { id, open: there, last };
    }
  }

  return {
    /** All readable proposals, open ones first, then newest first; each has a card. */
    list: () => listed(),
    /** Refs of proposals that cannot be read, and why. */
    unreadable: async () => [...(await readAll())].flatMap(([id, one]) => ("why" in one ? [{ id, why: one.why }] : [])),
    /** By `prop_...` or by the number of its card. @throws PROPOSAL_UNKNOWN */
    get: (id: string | number) => get(id),
    /** Its content commit, whose only parent is the base. @throws PROPOSAL_UNKNOWN */
    commitOf: async (id: string | number) => (await get(id)).commit,
    /**
     * The id that `create` would use; the identical open proposal, if any, and the last one in any state.
     * @throws PROPOSAL_PATH, PROPOSAL_EMPTY
     */
    placeOf: async (draft: ProposalDraft, base: string) => place(draft, base, await needed(draft, base)),
    /** Rejected proposals on one of these paths, newest first: the next proposer should see the reasons. */
    rejectedOn: async (paths: readonly string[]) =>
      (await listed()).filter(({ state, files }) => state === "rejected" && files.some(({ path }) => paths.includes(path))),
    /**
     * Records a change on the commit `base`: durable on return, in state draft. `known`: the identical proposal exists and was not decided
     * against. `card`: number of a card that becomes the proposal's. @throws PROPOSAL_PATH, PROPOSAL_EMPTY
     */
    async create(draft: ProposalDraft, base: string, card?: number): Promise<{ proposal: Proposal; known: boolean }> {
      const files = await needed(draft, base);
      for (let left = TRIES; left > 0; left--) {
        const { id, open } = await place(draft, base, files);
        if (open !== null) return { proposal: open, known: true };
        const change = { parents: [base], at: clock.now(), files: await withModes(files, git.tree(base)) };
        const plain = await refs.write({ ...change, message: changeMessage(id, draft) });
        const signature = await signAuthor(world, draft.by, plain);
        const commit = signature === undefined ? plain : await refs.write({ ...change, message: changeMessage(id, draft, signature) });
        sealAuthor(world, id, commit);
        if (!(await refs.move([{ ref: `${REFS}${id}/change`, from: null, to: commit }]))) continue;
        const all = await readAll();
        const made = all.get(id);
        if (card !== undefined && made !== undefined && "kept" in made) cards.adopt(card, made.kept);
        return { proposal: await get(id, all), known: false };
      }
      throw moving();
    },
    /** Records a transition if the proposal is in one of these states. @throws PROPOSAL_STATE, PROPOSAL_UNKNOWN */
    async update(id: string, change: Transition, { from }: { from: readonly ProposalState[] }): Promise<Proposal> {
      for (let left = TRIES; left > 0; left--) {
        // Both come from one read, so that a step by another process in between is noticed.
        const all = await readAll();
        const now = await get(id, all);
        const one = all.get(now.id);
        if (one === undefined || "why" in one) continue;
        // A state that the branch already shows may be recorded from the older state of the chain.
        const told = now.state === change.state && from.includes(one.kept.state);
        if (!from.includes(now.state) && !told) throw otherState(now, from);
        const by = change.by ?? "runtime";
        const life: ProposalStatusRecord = {
          state: change.state,
          why: change.why ?? null,
          by,
          at: clock.now(),
          applied: change.applied ?? now.applied,
          reverted: change.reverted ?? (change.state === "reverted" ? now.reverted : null),
        };
        const commit = await refs.write({
          parents: one.state === null ? [] : [one.state],
          message: `${change.says ?? subjectOf(change.state, by)}\n\nProposal: ${now.id}\n`,
          at: clock.now(),
          files: statusFiles(life, change.report ?? null, change.decisions ?? [], now.decisions.length + 1),
        });
        if (await refs.move([{ ref: `${REFS}${now.id}/state`, from: one.state, to: commit }])) return get(now.id);
      }
      throw moving();
    },
  };
}

const moving = (): ClearedError =>
  new ClearedError("PROPOSAL_STATE", `The proposal was changed by another process each of the ${TRIES} times this was tried. Try again.`);

/** The error for a call that comes too late for a proposal. */
function otherState(now: Proposal, from: readonly ProposalState[]): ClearedError {
  const last = now.decisions.at(-1);
  const said = last === undefined || now.state === "superseded" ? "" : ` (${last.decision} by ${last.by} on ${minuteOf(last.at)})`;
  const why = now.why === null ? "" : ` ${now.why}`;
  const message = `Proposal ${now.number} is ${stateWord(now)}${said}; this needs it to be ${from.join(" or ")}.${why}`;
  return new ClearedError("PROPOSAL_STATE", message, { data: { proposal: now.id, state: now.state } });
}

function subjectOf(state: ProposalState, by: string): string {
  if (ASKING.includes(state) || state === "blocked") return `checked: ${state}`;
  return by === "runtime" ? state : `${state} by ${by}`;
}

function idOf({ by, title, despite, asked }: ProposalDraft, base: string, files: Record<string, string | null>, again: number): string {
  const blobs = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, text === null ? null : sourceBlob(text)]));
  // Claims of one request do not apply to another.
  const request = asked === undefined ? {} : { request: asked.request, asked_at: asked.at ?? null };
  const digest = createHash("sha256")
    .update(canonicalJson({ base, files: blobs, by, title, again, ...(despite === undefined ? {} : { despite }), ...request }))
    .digest();
  return `prop_${Array.from(digest.subarray(0, 10), (byte) => ALPHABET[byte % 32]).join("")}`;
}

/** A file keeps its mode; a new one is a plain file. */
async function withModes(files: Record<string, string | null>, base: Tree): Promise<Map<string, { mode: string; text: string } | null>> {
  const all = new Map<string, { mode: string; text: string } | null>();
  for (const [path, text] of Object.entries(files)) {
    const mode = (await base.item?.(path))?.mode ?? "100644";
    all.set(path, text === null ? null : { mode, text });
  }
  return all;
}

/**
 * Cards of proposals: each proposal known in this workspace gets one, whose id is its number, and the card follows its state.
 * Invariant: a proposal has one card here, which is open exactly as long as the proposal is.
 */
function createProposalCards({ cards, clock, database }: ProposalWorld) {
  const bodyOf = ({ id, commit, report, state, by, files }: Kept): Json => {
    return { proposal: id, commit, since: report?.since ?? report?.at ?? null, state, by, files: files.map(({ path }) => path) };
  };
  const mine = (): Map<string, Card> => {
    const found = new Map<string, Card>();
    for (const card of cards.list({ kind: "proposal" })) {
      const { proposal } = card.body as { proposal?: string };
      if (proposal !== undefined && !found.has(proposal)) found.set(proposal, card);
    }
    return found;
  };

  return {
    proposalOf: (card: number): string | undefined => [...mine()].find(([, { id }]) => id === card)?.[0],
    /** Updates cards to match the proposals; returns the number of each. */
    follow(proposals: readonly Kept[]): Map<string, number> {
      let known = mine();
      // In the order in which they were made, so that numbers reflect it.
      const fresh = proposals.filter(({ id }) => !known.has(id)).sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
      const open = (one: Kept) => {
        const draft = { ...NOTHING_ASKED, kind: "proposal" as const, title: one.title, body: bodyOf(one), run: null };
        cards.open(`proposal/${one.id}`, draft, one.at);
      };
      if (fresh.length > 0) database.write(() => fresh.forEach(open));
      if (fresh.length > 0) known = mine();
      const numbers = new Map<string, number>();
      for (const one of proposals) {
        const card = known.get(one.id);
        if (card === undefined) continue;
        numbers.set(one.id, card.id);
        const body = bodyOf(one);
        if (canonicalJson(card.body) !== canonicalJson(body)) cards.restate(card.id, { title: one.title, body });
        if (card.decision === null && !OPEN.includes(one.state)) cards.decide(card.id, endOf(one, card.id, clock.now()));
      }
      return numbers;
    },
    /** Makes the card of a draft the card of this proposal. */
    adopt: (card: number, proposal: Kept): void => cards.restate(card, { title: proposal.title, body: bodyOf(proposal) }),
  };
}

/** The decision that closes the card: the last one, wherever it was made, else an event without one. */
function endOf(one: Kept, card: number, now: number) {
  const said = one.state === "rejected" ? "rejected" : one.state === "superseded" ? "expired" : "approved";
  const decided = one.decisions.findLast(({ decision }) => (decision === "rejected") === (said === "rejected"));
  if (decided !== undefined && said !== "expired") return { ...decided, card };
  return { card, decision: said, by: "runtime", at: now, ...(one.why === null ? {} : { reason: one.why }) } as const;
}
