/**
 * `undo`: reverts a proposal, a run or the last import in one commit that plain git reads as a revert. Exactly the plan that was shown is
 * carried out, or nothing. Statements return to import/ before the commit; after a kill in between, tidying moves them away again.
 */
import { link, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import type { Engine } from "../../kernel/ports.ts";
import { commitNamed } from "../../workspace/git/past.ts";
import { filesIn } from "../../workspace/statements/import-files.ts";
import type { ImportFolder } from "../../workspace/statements/import-folder.ts";
import { IMPORT, PROCESSED, RECEIPTS } from "../../workspace/layout.ts";
import { makePlainFolder } from "../../workspace/own-folders.ts";
import type { ApplyWorld } from "./apply.ts";
import { OPEN, type ProposalStore, createProposals } from "./store.ts";
import type { Proposal } from "../proposal-types.ts";
import { type PlanWorld, type UndoPlan, type UndoTarget, planAt, refusal, targetOf } from "./undo-plan.ts";

/** What undoing needs of a workspace; `Host` (app/host.ts) provides it. */
export interface UndoWorld extends ApplyWorld, PlanWorld {
  engine: Engine;
  tidy(): Promise<void>;
  folder: Pick<ImportFolder, "take">;
}

export interface Undoing {
  /** The person whose key the command used, or the part of Cleared that acts without one. */
  by: string;
  reason?: string | undefined;
  /** `seen` of the plan that was shown: an undo that would now do something else is refused. */
  seen?: string | undefined;
}

export interface Undone extends UndoPlan {
  /** The reverting commit. */
  commit: string;
  /** The proposal afterwards, when one was undone. */
  proposal: Proposal | null;
}

/**
 * The plan of an undo. `name`: a proposal's number or id, a run's id, "import", or the commit of an undo.
 * @throws UNDO_REFUSED, USAGE, PROPOSAL_UNKNOWN, RUN_UNKNOWN
 */
export async function planUndo(world: UndoWorld, name: string): Promise<UndoPlan> {
  const { target, store } = await look(world, name);
  const { texts: _, ...plan } = await planAt(world, target, world.git.tree(await world.git.head()), "");
  return { ...plan, notes: [...plan.notes, ...(await builtOn(store, target)), ...(await bookedWith(world, target))] };
}

/**
 * Reverts it in one commit by the committer.
 * @throws UNDO_REFUSED, GIT_STATE, USAGE, PROPOSAL_UNKNOWN, RUN_UNKNOWN
 */
export async function undo(world: UndoWorld, name: string, { by, reason = "", seen }: Undoing): Promise<Undone> {
  const { target, store } = await look(world, name);
  const first = await planAt(world, target, world.git.tree(await world.git.head()), reason);
  const expected = seen ?? first.seen;
  await bringBack(world, first.statements);
  let plan = first;
  try {
    const done = await world.git.commit({
      message: messageOf(target),
      trailers: { Reverts: first.commits.join(", "), "Undone-by": by, ...(reason === "" ? {} : { Reason: reason }) },
      build: async (head) => {
        // Planned again on the current HEAD, which may contain another undo: what is done is what was shown.
        plan = await planAt(world, (await look(world, name)).target, head, reason);
        if (plan.seen !== expected)
          throw refusal(`What undoing ${target.title} changes is no longer what was shown. Look again, then decide.`);
        return plan.texts;
      },
    });
    if (done.status === "user_edit")
      throw new ClearedError(
        "GIT_STATE",
        `${done.paths.join(", ")} has uncommitted edits of yours. Commit or undo them, then undo again. Nothing was changed.`,
      );
    if (done.status === "blocked") throw new ClearedError("GIT_STATE", done.reason);
    if (done.status === "unchanged") throw refusal(`Nothing of ${target.title} is left in the workspace; there is nothing to take back.`);
    await bringBack(world, plan.statements);
    settleCards(world, target);
    const change = { state: "reverted" as const, reverted: done.commit, why: `Undone by ${by}${reason === "" ? "" : `: ${reason}`}.`, by };
    const proposal = target.proposal && (await store.update(target.proposal.id, change, { from: ["applied", "reverted"] }));
    const { texts: _, ...shown } = plan;
    return { ...shown, commit: done.commit, proposal };
  } finally {
    // Statements are put where the receipts say, with or without a commit.
    if (first.files.some(({ path }) => path.startsWith(RECEIPTS))) await world.tidy();
  }
}

async function look(world: UndoWorld, name: string): Promise<{ target: UndoTarget; store: ProposalStore }> {
  const store = createProposals(world);
  const isNumber = /^\d{1,9}$/.test(name) && (await commitNamed(world.dir, await world.git.head(), name)) === null;
  const proposal = isNumber || name.startsWith("prop_") ? await store.get(isNumber ? Number(name) : name) : null;
  return { target: await targetOf(world, name, proposal), store };
}

/** git's wording for a revert, so that other tools recognize one. */
function messageOf({ subject, commits }: UndoTarget): string {
  return `${subject}\n\n${commits.map(({ commit }) => `This reverts commit ${commit}.`).join("\n")}`;
}

/** Other proposals on the same files: applied later ones stay in force, open ones no longer apply as they are. */
async function builtOn(store: ProposalStore, { proposal }: UndoTarget): Promise<string[]> {
  if (proposal === null) return [];
  const paths = new Set(proposal.files.map(({ path }) => path));
  const found = [];
  for (const other of await store.list()) {
    if (other.id === proposal.id || other.at < proposal.at || !other.files.some(({ path }) => paths.has(path))) continue;
    if (other.state === "applied") found.push(`Proposal ${other.number} "${other.title}" was applied later and stays.`);
    else if (OPEN.includes(other.state))
      found.push(`Proposal ${other.number} "${other.title}" changes the same files and must be proposed again.`);
  }
  return found;
}

/** Undoing a proposal does not change the books: entries of its runs need an undo of their own. */
async function bookedWith({ engine }: UndoWorld, { proposal, commits }: UndoTarget): Promise<string[]> {
  if (proposal === null) return [];
  const since = Date.parse(commits[0]?.date ?? "");
  const [counts, most] = [new Map<string, number>(), 1000];
  for (const { path } of proposal.files) {
    const agent = /^agents\/([^/]+)\.ts$/.exec(path)?.[1];
    const runs =
      agent === undefined ? [] : (await engine.list({ agent, limit: most })).filter((run) => run.createdAt >= since && run.mode === "live");
    if (agent !== undefined && runs.length > 0) counts.set(agent, runs.length);
  }
  return [...counts].map(
    ([agent, n]) =>
      `${n === most ? "at least " : ""}${n} ${n === 1 ? "run" : "runs"} of ${agent} since then: what they booked stays; \`cleared undo RUN\` takes one back.`,
  );
}

/** Closes questions about what was undone. Cards of entries follow the books (app/reconcile.ts). */
function settleCards({ cards, clock }: UndoWorld, { kind, id }: UndoTarget): void {
  if (kind !== "run" && kind !== "import") return;
  for (const card of cards.list({ open: true, run: id }))
    if (card.kind === "row" || card.kind === "note")
      cards.decide(card.id, { card: card.id, decision: "expired", by: "runtime", at: clock.now(), reason: `${id} was undone` });
}

/** Moves the statements from import/processed/ to import/, wherever their content is now; one that is already there stays. */
export async function bringBack({ dir, folder }: Pick<UndoWorld, "dir" | "folder">, statements: UndoPlan["statements"]): Promise<void> {
  const there = new Set(statements.length === 0 ? [] : (await filesIn(dir, IMPORT)).map(({ hash }) => hash));
  if (statements.every(({ hash }) => there.has(hash))) return;
  for (const file of await filesIn(dir, PROCESSED)) {
    const { name, hash } = file;
    const statement = statements.find((one) => one.hash === hash);
    if (statement === undefined || there.has(hash)) continue;
    const place = makePlainFolder(dir, IMPORT);
    try {
      // link + unlink: a rename would silently replace another file of that name.
      await link(join(dir, PROCESSED, name), join(place, statement.file));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw error;
    }
    await unlink(join(dir, PROCESSED, name));
    // It need not wait to be complete: it was.
    await folder.take({ ...file, name: statement.file });
    there.add(hash);
  }
}
