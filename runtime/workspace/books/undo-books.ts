/**
 * Undo of entries by meaning: entries that the commits added are removed, entries that they changed or removed come back, on the HEAD of
 * the moment. If a later stated balance or a closed period prevents that, each entry gets a reversal dated today instead. Entries that a
 * person has decided since are never edited.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { Entry, Tree } from "../../kernel/ports.ts";
import { correctionsOf } from "./decisions.ts";
import { ownKind } from "./entry-id.ts";
import { type BookRules, mirrorOf, monthsOf, reversalOf } from "./invariants.ts";
import { printEntry } from "./journal-text.ts";
import { applyEdits, type Edits, noEdits, plain } from "./ledger.ts";
import { isMonthFile } from "./main-journal.ts";
import { findEntry, loadMonth } from "./months.ts";
import { JOURNAL } from "../layout.ts";

/** The books around one commit; `paths`: what it changed. */
export interface PastBooks {
  before: Tree;
  after: Tree;
  paths: readonly string[];
}

export interface BooksUndone {
  files: Map<string, string | null>;
  removed: number;
  reversed: number;
  /** Entries that are again as they were before. */
  restored: number;
  /** What was left unchanged and why, a sentence each. */
  notes: string[];
}

/** An entry before the commits and after them. */
interface Net {
  was: Entry | null;
  left: Entry | null;
}

/**
 * Undoes what the commits (oldest first) did to the books.
 * @throws UNDO_REFUSED when an entry was decided or changed since, or when the books would be invalid after removing and after reversing
 */
export async function undoBooks(
  head: Tree,
  commits: readonly PastBooks[],
  rules: BookRules,
  context: { today: string; reason: string; run: string },
): Promise<BooksUndone> {
  const { edits, notes } = await editsOf(head, await netOf(commits));
  try {
    const files = await (await applyEdits(head, edits, rules)).files();
    const removed = edits.remove.size - edits.add.filter(({ id }) => edits.remove.has(id)).length;
    return { files, removed, reversed: 0, restored: edits.add.length, notes };
  } catch (error) {
    if (!(error instanceof ClearedError) || (error.code !== "JOURNAL_ASSERTION" && error.code !== "JOURNAL_CLOSED")) throw error;
    const because = error.code === "JOURNAL_CLOSED" ? "the period is closed" : "a balance that was stated later depends on them";
    try {
      return await reverse(head, edits, rules, { ...context, because, notes });
    } catch (cause) {
      throw new ClearedError(
        "UNDO_REFUSED",
        `The entries cannot be removed, because ${because}, nor reversed today: ${cause instanceof Error ? cause.message : String(cause)}`,
        { cause },
      );
    }
  }
}

async function netOf(commits: readonly PastBooks[]): Promise<Map<string, Net>> {
  const nets = new Map<string, Net>();
  for (const { before, after, paths } of commits) {
    for (const file of paths.filter(isMonthFile)) {
      const [was, left] = [(await loadMonth(before, file))?.byId ?? new Map(), (await loadMonth(after, file))?.byId ?? new Map()];
      for (const id of new Set<string>([...was.keys(), ...left.keys()])) {
        if (isSame(was.get(id) ?? null, left.get(id) ?? null)) continue;
        nets.set(id, { was: nets.get(id)?.was ?? was.get(id) ?? null, left: left.get(id) ?? null });
      }
    }
  }
  for (const [id, { was, left }] of nets) if (isSame(was, left)) nets.delete(id);
  return nets;
}

const isSame = (a: Entry | null, b: Entry | null): boolean => a === b || (a !== null && b !== null && printEntry(a) === printEntry(b));

/** @throws UNDO_REFUSED naming the entries that are not as the commits left them */
async function editsOf(head: Tree, nets: ReadonlyMap<string, Net>): Promise<{ edits: Edits; notes: string[] }> {
  const edits = noEdits();
  const notes: string[] = [];
  const refused: string[] = [];
  for (const [id, { was, left }] of nets) {
    const now = await findEntry(head, id);
    if (isSame(now, was)) continue;
    if (left === null || now === null) {
      if (now === null && was !== null && left === null) putBack(edits, was);
      else notes.push(`${id} has changed since and stays ${now === null ? "away" : "as it is"}.`);
      continue;
    }
    const voided = await reversalOf(now, monthsOf(head));
    if (voided !== null && !nets.has(voided)) notes.push(`${id} was voided since, by ${voided}; both stay.`);
    else if ((await correctionsOf(now, monthsOf(head))).some((one) => !nets.has(one.id)))
      refused.push(`${id} "${now.description.slice(0, 40)}" is corrected`);
    else if (!isSame(now, left)) refused.push(`${id} "${now.description.slice(0, 40)}" is ${now.status}${byOf(now)}`);
    else {
      edits.remove.add(id);
      if (was !== null) putBack(edits, was);
    }
  }
  if (refused.length === 0) return { edits, notes };
  throw new ClearedError(
    "UNDO_REFUSED",
    `${refused.slice(0, 3).join("; ")}${refused.length > 3 ? `; and ${refused.length - 3} more` : ""}; an undo does not take back what was decided or changed since. \`cleared correct ENTRY --account ACCOUNT\` books an entry where it belongs. To take back all of it, take back those changes first (\`git log -- ${JOURNAL}\` has their commits, \`git revert COMMIT\` takes one back), and undo again.`,
  );
}

function putBack(edits: Edits, was: Entry): void {
  edits.add.push(plain(was));
  // A stated balance that no longer holds must not prevent the undo, so it is left out instead.
  if (ownKind(was) === "closing") edits.soft.add(was.id);
}

const byOf = ({ tags }: Entry): string => (tags["by"] === undefined ? "" : ` by ${tags["by"]}`);

async function reverse(
  head: Tree,
  { remove, add }: Edits,
  rules: BookRules,
  { because, notes, ...context }: { today: string; reason: string; run: string; because: string; notes: string[] },
): Promise<BooksUndone> {
  const edits = noEdits();
  const kept: string[] = [];
  const back = new Map(add.map((entry) => [entry.id, entry]));
  for (const id of remove) {
    const now = await findEntry(head, id);
    if (now === null) continue;
    const was = back.get(id);
    const isStated = ownKind(now) === "opening" || ownKind(now) === "closing";
    if (was === undefined && !isStated) edits.add.push(mirrorOf(plain(now), context.reason, context));
    else if (was !== undefined && !(rules.closed_through !== undefined && now.date <= rules.closed_through)) {
      edits.remove.add(id);
      edits.add.push(was);
    } else kept.push(id);
  }
  const files = await (await applyEdits(head, edits, rules)).files();
  const stays =
    kept.length === 0 ? [] : [`${kept.join(", ")} ${kept.length === 1 ? "stays" : "stay"}: stated by the bank, or in a closed period.`];
  return {
    files,
    removed: 0,
    reversed: edits.add.length - edits.remove.size,
    restored: edits.remove.size,
    notes: [...notes, `Each entry gets a reversal of ${context.today} instead of going, because ${because}.`, ...stays],
  };
}
