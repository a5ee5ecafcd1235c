/**
 * What people decided about a recorded run after it ended: its entries as the books have them now, and its decided cards. This takes
 * precedence over the recording: changes are measured against it, and cases follow it.
 */
import type { Cards, Entry, Tree } from "../../kernel/ports.ts";
import { parseJournal } from "../../workspace/books/journal-text.ts";
import { asCorrected, correctionsOf } from "../../workspace/books/decisions.ts";
import { digestOfReadable, findEntry, monthFiles, monthOfId } from "../../workspace/books/months.ts";
import { monthsOf } from "../../workspace/books/invariants.ts";

export type LeftEntry = Pick<Entry, "status" | "postings">;

export interface Left {
  /** The entries that a person has confirmed or corrected, by id; null for one reversed since, of which no right form is known. */
  entries(ids: readonly string[]): Promise<ReadonlyMap<string, LeftEntry | null>>;
  /** Titles of the run's cards that a person has decided. */
  decided(): ReadonlySet<string>;
}

/** For comparisons in which only the recording counts. */
export const NOBODY: Left = { entries: async () => new Map(), decided: () => new Set() };

/** `books`: the tree of the books to read. */
export function leftOf(run: string, books: Tree, cards: Pick<Cards, "list">): Left {
  return {
    decided() {
      const all = cards.list({ run, decided: true }).filter(({ decision }) => decision?.by !== "runtime");
      return new Set(all.map(({ title }) => title));
    },
    async entries(ids) {
      const found = new Map<string, LeftEntry | null>();
      if (ids.length === 0) return found;
      const { decided, voids, corrects } = await once(books, "named", () => namedIn(books));
      for (const id of new Set(ids)) {
        const file = monthOfId(id);
        const decisions = async () => once(books, file, async () => decidedIn((await books.read(file)) ?? ""));
        const entry = voids.has(id) ? null : corrects.has(id) ? await leftBy(id, books) : decided.has(id) && (await decisions()).get(id);
        if (entry !== false && entry !== undefined) found.set(id, entry);
      }
      return found;
    },
  };
}

/** Entries in a month's text that a person decided, by id. Only those are parsed: a long history as objects would fill the memory. */
function decidedIn(text: string): Map<string, LeftEntry> {
  const found = new Map<string, LeftEntry>();
  for (const { index } of text.matchAll(/^ {4}; status: user-/gm)) {
    const before = text.lastIndexOf("\n\n", index);
    const end = text.indexOf("\n\n", index);
    const [entry] = parseJournal(text.slice(before < 0 ? 0 : before + 2, end < 0 ? undefined : end + 1), "").entries;
    // Copied, because a slice would keep the month's whole text in memory.
    if (entry !== undefined)
      found.set(...(JSON.parse(JSON.stringify([entry.id, { status: entry.status, postings: entry.postings }])) as [string, LeftEntry]));
  }
  return found;
}

/** An entry as its corrections left it; null if it is gone. */
async function leftBy(id: string, books: Tree): Promise<LeftEntry | null> {
  const entry = await findEntry(books, id);
  return entry === null ? null : asCorrected(entry, await correctionsOf(entry, monthsOf(books)));
}

/** Ids of entries that a person decided, and of those that others reverse or correct. */
async function namedIn(books: Tree): Promise<Record<"decided" | "voids" | "corrects", ReadonlySet<string>>> {
  const all = await Promise.all((await monthFiles(books)).map((file) => digestOfReadable(books, file)));
  const of = (what: "decided" | "voids" | "corrects") => new Set(all.flatMap((digest) => digest[what]));
  return { decided: of("decided"), voids: of("voids"), corrects: of("corrects") };
}

const kept = new WeakMap<Tree, Map<string, Promise<unknown>>>();

/** Caches a result per tree. */
function once<T>(tree: Tree, name: string, find: () => Promise<T>): Promise<T> {
  return kept.getOrInsertComputed(tree, () => new Map()).getOrInsertComputed(name, find) as Promise<T>;
}
