/**
 * The legs on one account, read from the books as a run sees them. Invariant: months that the run has not touched are read once for each
 * content, and of their entries only what sums and stated balances need is kept.
 */
import type { Entry, Tree } from "../../kernel/ports.ts";
import { Kept } from "../../kernel/kept.ts";
import { fromExact, toExact } from "./amounts.ts";
import type { Leg } from "./bank-balances.ts";
import { ownKind } from "./entry-id.ts";
import { plain } from "./ledger.ts";
import { LARGE, readEntries } from "./months.ts";
import type { Overlay } from "../overlay.ts";

// An import looks at the legs of its account a few times, and the books are long.
const kept = new WeakMap<Overlay, { at: string; legs: Kept<string, Promise<readonly Leg[]>> }>();

/** The legs on one account in one currency, in the order of the books. @throws JOURNAL_FORM */
export async function legsOf(overlay: Overlay, account: string, currency: string): Promise<readonly Leg[]> {
  const at = `${(await overlay.head()).commit} ${overlay.version()}`;
  let found = kept.get(overlay);
  if (found?.at !== at) kept.set(overlay, (found = { at, legs: new Kept(1000) }));
  return found.legs.of(`${currency} ${account}`, () => readLegs(overlay, account, currency));
}

async function readLegs(overlay: Overlay, account: string, currency: string): Promise<Leg[]> {
  const legs: Leg[] = [];
  for (const file of await overlay.months()) {
    const head = await overlay.untouched(file);
    const found = head === null ? legsIn(await overlay.month(file), account, currency) : await legsAt(head, file, account, currency);
    for (const leg of found) legs.push(leg);
  }
  return legs;
}

// A long history is added up at each import and at each trial of one; its months as entries would not fit into memory.
const keptLegs = new Kept<string, readonly Leg[]>(250_000, ({ length }) => 1 + length);

async function legsAt(head: Tree, file: string, account: string, currency: string): Promise<readonly Leg[]> {
  const name = `${await head.blob(file)} ${account} ${currency}`;
  return keptLegs.load(name, async () => {
    let text = head.kept?.get("legs", name) ?? null;
    if (text === null) {
      text = briefly(legsIn(await readEntries(head, file), account, currency));
      if (text.length > LARGE / 4) head.kept?.put(text, "legs", name);
    }
    return (JSON.parse(text) as [Pick<Entry, "id" | "date">, string, string | null][]).map(([entry, amount, assertion]): Leg => {
      return { entry: { ...BRIEF, ...entry }, amount: toExact(amount), assertion: assertion === null ? null : toExact(assertion) };
    });
  });
}

function legsIn(entries: readonly Entry[], account: string, currency: string): Leg[] {
  return entries.flatMap((entry) =>
    entry.postings.flatMap((posting) => {
      if (posting.account !== account || posting.currency !== currency) return [];
      const assertion = posting.assertion === undefined ? null : toExact(posting.assertion);
      return { entry, amount: toExact(posting.amount), assertion };
    }),
  );
}

/**
 * Of entries that say nothing of a balance only what sums need. The key of one that is a row of its own tells no more than its id. As text: it is
 * kept on the disk, and what is read of it holds no part of the month's text in memory.
 */
function briefly(legs: readonly Leg[]): string {
  const rows = legs.map(({ entry, amount, assertion }) => {
    const { id, date, tags } = entry;
    const { key = "" } = tags;
    const isWhole = assertion !== null || ownKind(entry) !== null || key.endsWith(":gap");
    const kept = isWhole ? plain(entry) : key.includes("#") ? { id, date, tags: { key } } : { id, date };
    return [kept, fromExact(amount, amount.scale), assertion === null ? null : fromExact(assertion, assertion.scale)];
  });
  return JSON.stringify(rows);
}

// The status is asked of none of them.
const BRIEF = { status: "auto-confirmed" as const, counterparty: "", description: "", tags: Object.freeze({}), postings: [] };
