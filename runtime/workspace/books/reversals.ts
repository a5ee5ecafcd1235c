/**
 * Reversals: an entry is cancelled by its mirror image, once, and never edited. What a reversal mirrors may change between the call and
 * the commit (a person moves a leg, another run voids it first), so the commit looks again.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { Entry, Posting, Tree } from "../../kernel/ports.ts";
import { negated } from "./amounts.ts";
import { entryId } from "./entry-id.ts";
import { cleanEntry } from "./journal-text.ts";
import { monthFile } from "../layout.ts";
import { findEntry, monthFiles, wholeMonth } from "./months.ts";

/** The books as reversals are looked for in them: a run's view, or a tree. */
export interface Months {
  /** Oldest first. */
  months(): Promise<string[]>;
  month(file: string): Promise<readonly Entry[]>;
}

export function monthsOf(tree: Tree): Months {
  return { months: () => monthFiles(tree), month: async (file) => (await wholeMonth(tree, file))?.entries ?? [] };
}

/** A leg without the balance that it states. */
export const bare = ({ assertion: _, ...leg }: Posting): Posting => leg;

const keyOf = (entry: Entry): string => `void:${entry.id}`;

/** The mirror image of an entry, of today: a balance that the bank stated for an earlier day stays true. */
export function mirrorOf(entry: Entry, reason: string, context: { today: string; run: string }): Entry {
  const date = entry.date > context.today ? entry.date : context.today;
  return cleanEntry({
    id: entryId(date, keyOf(entry)),
    date,
    status: "voided",
    counterparty: entry.counterparty,
    description: `Void ${entry.description}`,
    tags: { key: keyOf(entry), note: reason, run: context.run, voids: entry.id },
    postings: entry.postings.map((leg) => ({ ...bare(leg), amount: negated(leg.amount) })),
  });
}

/** Id of the reversal of an entry, or null. It is of the entry's day or later, so only those months are read. */
export async function reversalOf(entry: Entry, books: Months): Promise<string | null> {
  for (const file of await books.months()) {
    if (file < monthFile(entry.date)) continue;
    const found = (await books.month(file)).find((other) => other.status === "voided" && other.tags["key"] === keyOf(entry));
    if (found !== undefined) return found.id;
  }
  return null;
}

/** @throws WORKSPACE_CONFLICT when an added reversal does not mirror what the books hold by now, or is the second one */
export async function assertReversals(head: Tree, added: readonly Entry[]): Promise<void> {
  for (const reversal of added.filter((entry) => entry.status === "voided")) {
    const id = reversal.tags["voids"] ?? "";
    const entry = added.find((other) => other.id === id) ?? (await findEntry(head, id));
    if (entry === null || !isMirror(entry, reversal) || (await reversalOf(entry, monthsOf(head))) !== null) {
      throw new ClearedError(
        "WORKSPACE_CONFLICT",
        `${id} was changed, voided or removed since the run voided it. Start the run again; it will read the new books.`,
        { data: { entry: id } },
      );
    }
  }
}

/** True when the two cancel out, leg by leg. */
export function isMirror(entry: Entry, reversal: Entry): boolean {
  return entry.postings.length === reversal.postings.length && entry.postings.every((posting, i) => cancel(posting, reversal.postings[i]));
}

function cancel(a: Posting, b: Posting | undefined): boolean {
  return a.account === b?.account && a.currency === b.currency && a.amount === negated(b.amount);
}
