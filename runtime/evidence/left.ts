/**
 * What people have made of a recorded run since it ended: its entries as the books hold them now, and the cards they have decided. That
 * counts more than the recording: a change is measured by it, and a case moves with it.
 */
import type { Cards, Entry, Tree } from "../ports.ts";
import { parseJournal } from "../workspace/journal-text.ts";
import { monthFiles, monthOfId } from "../workspace/months.ts";

export type LeftEntry = Pick<Entry, "status" | "postings">;

export interface Left {
  /** Those of the entries that a person has confirmed or corrected, by id; null for one that was reversed since: nothing is known to be right. */
  entries(ids: readonly string[]): Promise<ReadonlyMap<string, LeftEntry | null>>;
  /** Titles of the run's cards that a person has decided. */
  decided(): ReadonlySet<string>;
}

/** Where nothing but the recording counts. */
export const NOBODY: Left = { entries: async () => new Map(), decided: () => new Set() };

const DECIDED: readonly string[] = ["user-confirmed", "user-corrected"];

/** `books`: the tree whose books count. */
export function leftOf(run: string, books: Tree, cards: Pick<Cards, "list">): Left {
  return {
    decided() {
      const all = cards.list({ run }).filter(({ decision }) => decision !== null && decision.by !== "runtime");
      return new Set(all.map(({ title }) => title));
    },
    async entries(ids) {
      const found = new Map<string, LeftEntry | null>();
      if (ids.length === 0) return found;
      const gone = await reversedIn(books);
      for (const [file, of] of Map.groupBy(new Set(ids), monthOfId)) {
        const text = (await books.read(file)) ?? "";
        for (const id of of) {
          const entry = entryIn(text, id);
          if (gone.has(id)) found.set(id, null);
          else if (entry !== undefined && DECIDED.includes(entry.status)) found.set(id, entry);
        }
      }
      return found;
    },
  };
}

/** The entry of that id, read alone: most months of a long history are asked for a few, and as entries they would fill the memory. */
function entryIn(text: string, id: string): Entry | undefined {
  const at = text.indexOf(` (${id}) `);
  if (at < 0) return undefined;
  const end = text.indexOf("\n\n", at);
  return parseJournal(text.slice(text.lastIndexOf("\n", at) + 1, end < 0 ? undefined : end + 1), "").entries[0];
}

const reversed = new WeakMap<Tree, Promise<Set<string>>>();

/** Ids of the entries that others reverse. */
function reversedIn(books: Tree): Promise<Set<string>> {
  const known = reversed.get(books) ?? read();
  reversed.set(books, known);
  return known;

  async function read(): Promise<Set<string>> {
    const ids = new Set<string>();
    for (const file of await monthFiles(books))
      for (const [, id = ""] of ((await books.read(file)) ?? "").matchAll(/^ *; voids: *(\S+)/gm)) ids.add(id);
    return ids;
  }
}
