/**
 * The books as one run sees them (interface Books of ports.ts): HEAD plus what the run wrote. A row of a statement is booked under the
 * row's own key, so the same row is the same entry in every run and every clone.
 */
import { isDay } from "../../kernel/day.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { Books, Entry, EntryDraft, EntryFilter, Row } from "../../kernel/ports.ts";
import { type Exact, fromExact, type Totals } from "./amounts.ts";
import { asCorrected, correctionsOf } from "./decisions.ts";
import { accountOf, assertEntry, type BookRules, mirrorOf, reversalOf, toEntry, unfit } from "./invariants.ts";
import { isEntryId, ownKind } from "./entry-id.ts";
import { cleanEntry } from "./journal-text.ts";
import { plain } from "./ledger.ts";
import type { Chart } from "./main-journal.ts";
import { addPostings, assertWhole, loadChart } from "./months.ts";
import type { Overlay } from "../overlay.ts";

/** The part of a statement's row that booking it needs. */
export interface BookedRow extends Pick<Row, "id" | "date" | "currency"> {
  key: string;
  /** Id of another entry that represents the row: decided to be the same, asked about, or deleted by hand. Then nothing is written. */
  held?: string;
}

export interface BooksContext {
  overlay: Overlay;
  run: string;
  rules(): Promise<BookRules & { currency: string }>;
  /** The day in the workspace's time zone. */
  today(): string;
  /** Rows with a reference that this run parsed, in the order of their statements. */
  rowsOf(reference: string): readonly BookedRow[];
}

/** Books of a run. */
export function createBooks(context: BooksContext): Books {
  const { overlay } = context;
  /** Where the search for an unused key of a reference continues: thousands of rows may share one reference. */
  const positions = new Map<string, number>();
  const chart = async (): Promise<Chart> => loadChart(await overlay.head());

  const add = async (drafts: EntryDraft[]): Promise<{ entry_id: string; known: boolean }[]> => {
    const [accounts, rules] = [await chart(), await context.rules()];
    const used = new Set<string>();
    const moved = new Map<string, number>();
    const entries: Entry[] = [];
    const holders: (string | undefined)[] = [];
    for (const draft of drafts) {
      const { key, ref, currency = rules.currency, held } = keyOf(draft, context, used, positions, moved);
      // A leg without a currency gets that of the row, so that a script written for one currency books a EUR row as EUR.
      entries.push(toEntry(draft, key, { run: context.run, ...(ref === undefined ? {} : { ref }) }, accounts, { ...rules, currency }));
      used.add(key);
      holders.push(held);
    }
    const ids = await overlay.existing(entries.map((entry) => entry.id));
    const known: string[] = [];
    const fresh: Entry[] = [];
    const answers = entries.map((entry, i) => {
      const held = holders[i];
      const isKnown = held !== undefined || ids.has(entry.id);
      if (isKnown) known.push(entry.tags["key"] ?? "");
      else fresh.push(entry);
      ids.add(entry.id);
      return { entry_id: held ?? entry.id, known: isKnown };
    });
    // Recorded only after every draft has been checked, so that a failing call changes nothing.
    if (fresh.length > 0) overlay.add(fresh);
    if (known.length > 0) overlay.record({ op: "known", keys: known });
    for (const [reference, position] of moved) positions.set(reference, position);
    return answers;
  };

  const existing = async (id: string): Promise<Entry> => {
    const entry = isEntryId(id) ? await overlay.get(id) : null;
    if (entry === null) throw new ClearedError("JOURNAL_ENTRY_MISSING", `No entry has the id "${id.slice(0, 40)}".`);
    return entry;
  };

  return {
    add,
    last: () => overlay.last(),
    accounts: async () => (await chart()).accounts.map((account) => ({ ...account })),
    query: async (filter) => query(overlay, await chart(), filter),
    setStatus: async (id, status) => {
      const entry = await existing(id);
      if (entry.status === status) return;
      const rule = "Only a pending entry changes its status; a confirmed one is moved by `cleared correct`.";
      if (entry.status !== "pending-review" || status === "voided")
        throw unfit(id, `is ${entry.status} and cannot become ${status}. ${rule}`);
      assertEntry({ ...plain(entry), status }, await chart(), await context.rules());
      overlay.record({ op: "status", id, status });
    },
    void: async (id, reason) => {
      const entry = await existing(id);
      const kind = ownKind(entry);
      const what = entry.status === "voided" ? "itself a reversal" : kind === "correct" ? "a correction" : "a stated balance";
      if (entry.status === "voided" || kind !== null) throw unfit(entry.id, `is ${what} and cannot be voided.`);
      const earlier = await reversalOf(entry, overlay);
      if (earlier !== null) throw unfit(entry.id, `has already been voided, by ${earlier}.`, { void_entry_id: earlier });
      const now = asCorrected(entry, await correctionsOf(entry, overlay)).postings;
      const at = now.findIndex(({ account }, i) => account !== entry.postings[i]?.account);
      const back = `cleared correct ${entry.id} --account "${entry.postings[at]?.account}"`;
      if (at >= 0) throw unfit(entry.id, `has been corrected. Void it after \`${back}\`, which moves it back.`);
      const reversal = mirrorOf(entry, reason, { today: context.today(), run: context.run });
      assertEntry(reversal, await chart(), await context.rules());
      overlay.add([cleanEntry(reversal)]);
      return { void_entry_id: reversal.id };
    },
    balance: async (word, through) => {
      if (through !== undefined && !isDay(through))
        throw new ClearedError("JOURNAL_DATE", `"${through.slice(0, 20)}" is not a day. Write YYYY-MM-DD.`);
      const { name } = accountOf(await chart(), word);
      const { currency } = await context.rules();
      const totals = await totalsThrough(overlay, through);
      const sums = new Map<string, Exact>([[currency, 0n]]);
      for (const [account, row] of totals) {
        if (account !== name && !account.startsWith(`${name}:`)) continue;
        for (const [unit, value] of row) sums.set(unit, (sums.get(unit) ?? 0n) + value);
      }
      return Object.fromEntries([...sums].map(([unit, value]) => [unit, fromExact(value, 2)]));
    },
  };
}

/** Key and reference tag of a draft. A further entry of the same row in this run gets `#2`, `#3` and so on. */
function keyOf(
  draft: EntryDraft,
  context: BooksContext,
  used: ReadonlySet<string>,
  positions: ReadonlyMap<string, number>,
  moved: Map<string, number>,
): { key: string; ref?: string; currency?: string; held?: string } {
  const reference = draft.reference ?? "";
  const rows = reference === "" ? [] : context.rowsOf(reference);
  if (rows.length === 0) {
    if (draft.key === undefined) {
      const what = reference === "" ? "no reference" : `the reference "${reference.slice(0, 60)}", which no row parsed in this run has,`;
      throw new ClearedError("JOURNAL_KEY", `The entry "${draft.description.slice(0, 60)}" has ${what} and no key.`);
    }
    return { key: draft.key, ...(reference === "" ? {} : { ref: reference }) };
  }
  for (let position = moved.get(reference) ?? positions.get(reference) ?? 0; ; position++) {
    const row = rows[position % rows.length] as BookedRow;
    const round = Math.floor(position / rows.length) + 1;
    const key = round === 1 ? row.key : `${row.key}#${round}`;
    if (used.has(key) || context.overlay.usedKeys.has(key)) continue;
    if (row.date !== draft.date)
      throw new ClearedError(
        "JOURNAL_DATE",
        `The row "${reference.slice(0, 60)}" is dated ${row.date}, the entry ${draft.date}. An entry for a statement's row must have the row's date; give an entry for another day its own key.`,
      );
    moved.set(reference, position);
    const { currency, held } = row;
    return { key, currency, ...(reference === row.id ? {} : { ref: reference }), ...(held === undefined ? {} : { held }) };
  }
}

async function query(overlay: Overlay, chart: Chart, filter: EntryFilter): Promise<Entry[]> {
  if (filter.id !== undefined) {
    const entry = isEntryId(filter.id) ? await overlay.get(filter.id) : null;
    return entry !== null && matches(entry, filter, chart) ? [copyOf(entry)] : [];
  }
  if (filter.account !== undefined) accountOf(chart, filter.account);
  await assertWhole(await overlay.head());
  const found: Entry[] = [];
  for (const file of await overlay.months()) {
    if (filter.year !== undefined && Number(file.slice(8, 12)) !== filter.year) continue;
    if (filter.month !== undefined && Number(file.slice(13, 15)) !== filter.month) continue;
    for (const entry of await overlay.month(file)) {
      if (found.length >= (filter.limit ?? Number.POSITIVE_INFINITY)) return found;
      if (matches(entry, filter, chart)) found.push(copyOf(entry));
    }
  }
  return found;
}

function matches(entry: Entry, filter: EntryFilter, chart: Chart): boolean {
  if (filter.status !== undefined && entry.status !== filter.status) return false;
  if (filter.year !== undefined && Number(entry.date.slice(0, 4)) !== filter.year) return false;
  if (filter.month !== undefined && Number(entry.date.slice(5, 7)) !== filter.month) return false;
  if (filter.account !== undefined) {
    const name = chart.byWord.get(String(filter.account))?.name ?? "";
    if (!entry.postings.some(({ account }) => account === name || account.startsWith(`${name}:`))) return false;
  }
  const text = filter.text?.toLowerCase();
  return text === undefined || `${entry.counterparty}\n${entry.description}`.toLowerCase().includes(text);
}

function copyOf(entry: Entry): Entry {
  return { ...plain(entry), tags: { ...entry.tags }, postings: entry.postings.map((posting) => ({ ...posting })) };
}

async function totalsThrough(overlay: Overlay, through: string | undefined): Promise<Totals> {
  await assertWhole(await overlay.head());
  const totals: Totals = new Map();
  for (const file of await overlay.months()) {
    for (const entry of await overlay.month(file)) {
      if (through === undefined || entry.date <= through) addPostings(totals, entry);
    }
  }
  return totals;
}
