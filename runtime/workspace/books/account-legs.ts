/**
 * The legs on one account, read from the books as a run sees them. Invariant: months that the run has not touched are read once for each
 * content, and of their entries only what sums and stated balances need is kept.
 */
import type { Entry, Tree } from "../../kernel/ports.ts";
import { Kept } from "../../kernel/kept.ts";
import { type Exact, fromExact, plus, toExact } from "./amounts.ts";
import type { Leg } from "./bank-balances.ts";
import { ownKind } from "./entry-id.ts";
import { plain } from "./ledger.ts";
import { monthFile } from "../layout.ts";
import { digestOf, monthOfId, readEntries } from "./months.ts";
import type { Overlay } from "../overlay.ts";

// An import looks at the legs of its account a few times, and the books are long.
const kept = new WeakMap<Overlay, { at: string; legs: Kept<string, Promise<readonly Leg[]>> }>();

/**
 * The legs on one account in one currency, in the order of the books. What one day has that states no balance stands as one leg, with the
 * sum: but in months that the run has written to, and in those of `days`, of which each leg is asked. @throws JOURNAL_FORM
 */
export async function legsOf(overlay: Overlay, account: string, currency: string, days: readonly string[] = []): Promise<readonly Leg[]> {
  const at = `${(await overlay.head()).commit} ${overlay.version()}`;
  let found = kept.get(overlay);
  if (found?.at !== at) kept.set(overlay, (found = { at, legs: new Kept(1000) }));
  const asked = new Set(days.map(monthFile));
  return found.legs.of([currency, account, ...asked].join(" "), () => readLegs(overlay, account, currency, asked));
}

async function readLegs(overlay: Overlay, account: string, currency: string, asked: ReadonlySet<string>): Promise<Leg[]> {
  const legs: Leg[] = [];
  // What the run has committed is as new as what it has not.
  const own = new Set(Array.from(overlay.mine.keys(), monthOfId));
  for (const file of await overlay.months()) {
    const head = await overlay.untouched(file);
    const isBrief = head !== null && !asked.has(file) && !own.has(file);
    const entries = async () => (head === null ? overlay.month(file) : readEntries(head, file));
    const found = isBrief ? await daysAt(head, file, account, currency) : legsIn(await entries(), account, currency);
    for (const leg of found) legs.push(leg);
  }
  return legs;
}

// A long history is added up at each import and at each trial of one: some thirty sums a month.
const keptDays = new Kept<string, readonly Leg[]>(50_000, ({ length }) => 1 + length);
// A month of so many takes longer to read than what is kept of it on the disk.
const MANY = 300;

async function daysAt(head: Tree, file: string, account: string, currency: string): Promise<readonly Leg[]> {
  const name = `${await head.blob(file)} ${account} ${currency}`;
  return keptDays.load(name, async () => {
    let text = head.kept?.get("legs", name) ?? null;
    if (text === null) {
      // Most accounts have nothing in most months, which their sums tell.
      const isThere = (await digestOf(head, file)).totals.get(account)?.has(currency) === true;
      const entries = isThere ? await readEntries(head, file) : [];
      text = briefly(legsIn(entries, account, currency));
      if (entries.length > MANY) head.kept?.put(text, "legs", name);
    }
    return (JSON.parse(text) as [Pick<Entry, "date">, string, string | null][]).map(([entry, amount, assertion]): Leg => {
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

/** Legs that state a balance or belong to the books themselves are whole, those of a day between two of them one sum. As text: it is kept on the disk. */
function briefly(legs: readonly Leg[]): string {
  const days: [Pick<Entry, "date">, Exact, Exact | null][] = [];
  let isOpen = false;
  for (const { entry, amount, assertion } of legs) {
    const isWhole = assertion !== null || ownKind(entry) !== null;
    const day = days.at(-1);
    if (isOpen && !isWhole && day?.[0].date === entry.date) day[1] = plus(day[1], amount);
    else days.push([isWhole ? plain(entry) : { date: entry.date }, amount, assertion]);
    isOpen = !isWhole;
  }
  return JSON.stringify(days.map(([entry, ...sums]) => [entry, ...sums.map((sum) => sum && fromExact(sum, sum.scale))]));
}

// The status is asked of none of them, and no statement lists a sum.
const BRIEF = { id: "", status: "auto-confirmed" as const, counterparty: "", description: "", tags: Object.freeze({}), postings: [] };
