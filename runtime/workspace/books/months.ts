/**
 * Reading the books from a tree: months and the chart, parsed once per blob. An id carries its day, so everything about one entry
 * is in one month's file; a commit therefore reads only the months it touches, however long the history is.
 */
import { Kept } from "../../kernel/kept.ts";
import { ClearedError, formatAt, onCode } from "../../kernel/errors.ts";
import type { Entry, Finding, Tree } from "../../kernel/ports.ts";
import { addTo, fromExact, toExact, type Totals } from "./amounts.ts";
import { dayOfId } from "./entry-id.ts";
import { type ParsedEntry, parseJournal } from "./journal-text.ts";
import { JOURNAL, MAIN_JOURNAL, monthFile } from "../layout.ts";
import { type Chart, isMonthFile, parseMain } from "./main-journal.ts";

export interface Month {
  file: string;
  text: string;
  entries: readonly ParsedEntry[];
  byId: ReadonlyMap<string, ParsedEntry>;
  findings: readonly Finding[];
  /** The first entry that is not in `entries`, because it cannot be read or belongs to another month; null when all are. */
  unread: Finding | null;
  /** Sum of the month's postings by account and currency. */
  totals: Totals;
}

// Parsed entries take about twelve times their text; with 6 MiB of text (20,000 entries, twice a large statement), a proposal over 100,000 entries stays below 400 MB.
const CACHE_CHARS = 6 * 1024 * 1024;
const cache = new Kept<string, Month>(CACHE_CHARS, ({ text }) => text.length);
const charts = new Kept<string, Chart>(8);

/** The month, or null when the tree has no such file. */
export async function loadMonth(tree: Tree, file: string): Promise<Month | null> {
  const blob = await tree.blob(file);
  if (blob === null) return null;
  return cache.load(`${file}@${blob}`, async () => toMonth(file, (await tree.read(file)) ?? ""));
}

/** What every month of a long history is asked for; it takes a fortieth of the size of the entries. */
export interface Digest {
  /** Characters of its ids. */
  size: number;
  readonly ids: ReadonlySet<string>;
  totals: Totals;
  /** Ids of the entries that a person has confirmed or corrected, and of those that entries of this month reverse or correct. */
  decided: readonly string[];
  voids: readonly string[];
  corrects: readonly string[];
}

// Characters of a month's text above which reading its digest from the disk cache is faster than parsing it.
const LARGE = 65_536;

const NOTHING: Digest = { size: 0, ids: new Set(), totals: new Map(), decided: [], voids: [], corrects: [] };
const digests = new Kept<string, Digest>(3_000_000, ({ size }) => 1000 + size);

/** Ids and sums of the month. @throws JOURNAL_FORM when an entry cannot be read: its row would be booked twice, and sums would be wrong */
export async function digestOf(tree: Tree, file: string): Promise<Digest> {
  const blob = await tree.blob(file);
  if (blob === null) return NOTHING;
  return digests.load(`${file}@${blob}`, async () => {
    const kept = tree.kept?.get("digest", `${file}@${blob}`) ?? null;
    return kept === null ? digested(await wholeMonth(tree, file), blob, tree) : fromText(kept);
  });
}

/** The digest of those entries of the month that can be read. */
export const digestOfReadable = (tree: Tree, file: string): Promise<Digest> =>
  digestOf(tree, file).catch(async () => fromText(toText((await loadMonth(tree, file)) ?? toMonth(file, ""))));

function digested(month: Month | null, blob: string, tree: Tree): Digest {
  if (month === null) return NOTHING;
  const name = `${month.file}@${blob}`;
  return digests.of(name, () => {
    const kept = toText(month);
    if (month.text.length > LARGE) tree.kept?.put(kept, "digest", name);
    return fromText(kept);
  });
}

function toText({ entries, totals }: Month): string {
  const sums = [...totals].map(([account, row]) => [account, [...row].map(([unit, sum]) => [unit, fromExact(sum)])]);
  const decided = entries.filter(({ status }) => status.startsWith("user-")).map(({ id }) => id);
  const named = ["voids", "corrects"].map((tag) => entries.flatMap(({ tags }) => tags[tag] ?? []));
  return JSON.stringify([entries.map(({ id }) => id).join(" "), sums, decided, ...named]);
}

function fromText(text: string): Digest {
  const [all, sums, decided, voids, corrects] = JSON.parse(text) as [string, [string, [string, string][]][], string[], string[], string[]];
  const rowOf = (row: [string, string][]) => new Map(row.map(([unit, amount]) => [unit, toExact(amount)]));
  const totals: Totals = new Map(sums.map(([account, row]) => [account, rowOf(row)]));
  let ids: ReadonlySet<string> | null = null;
  return {
    ...{ size: all.length, totals, decided, voids, corrects },
    // Made when needed: for most months it never is, and the text takes a third of the memory.
    get ids() {
      return (ids ??= new Set(all === "" ? [] : all.split(" ")));
    },
  };
}

export function toMonth(file: string, text: string): Month {
  const { entries, findings, unread } = parseJournal(text, file);
  let [byId, totals]: [Month["byId"] | null, Totals | null] = [null, null];
  return {
    ...{ file, text, entries, findings, unread: unread ?? misplaced(entries, file) },
    get byId() {
      return (byId ??= new Map(entries.map((entry) => [entry.id, entry])));
    },
    get totals() {
      return (totals ??= sumOf(entries));
    },
  };
}

function sumOf(entries: readonly Entry[]): Totals {
  const totals: Totals = new Map();
  for (const entry of entries) addPostings(totals, entry);
  return totals;
}

function misplaced(entries: readonly ParsedEntry[], file: string): Finding | null {
  const entry = entries.find(({ date }) => monthFile(date) !== file);
  if (entry === undefined) return null;
  return { code: "JOURNAL_DATE", at: { file, line: entry.line }, message: `${entry.date} is outside this file's month.` };
}

/**
 * The month, for sums and searches.
 * @throws JOURNAL_FORM when an entry of it cannot be read: a sum without that entry would be wrong without anybody noticing
 */
export async function wholeMonth(tree: Tree, file: string): Promise<Month | null> {
  const month = await loadMonth(tree, file);
  if (month !== null && month.unread !== null) throw notWhole(month.unread);
  return month;
}

/** The month's entries, without caching them: for reading through a long history. @throws JOURNAL_FORM, as wholeMonth */
export async function readEntries(tree: Tree, file: string): Promise<readonly Entry[]> {
  const blob = await tree.blob(file);
  const month = cache.get(`${file}@${blob}`) ?? toMonth(file, (await tree.read(file)) ?? "");
  if (month.unread !== null) throw notWhole(month.unread);
  // Its digest is usually needed next.
  if (blob !== null) digested(month, blob, tree);
  return month.entries;
}

/** Call before adding up the books. @throws JOURNAL_FORM when main.journal holds or includes entries that no month's file has */
export async function assertWhole(tree: Tree): Promise<void> {
  const { includes, unread } = await loadChart(tree);
  if (unread !== null) throw notWhole(unread);
  for (const file of includes) {
    if ((await tree.blob(file)) !== null) continue;
    throw notWhole({ code: "JOURNAL_FORM", at: { file: MAIN_JOURNAL }, message: `${file} is included but does not exist.` });
  }
}

/** The result of `work`, or of `otherwise` if the books cannot be read completely. */
export const ifWhole = <T, E = null>(work: () => Promise<T>, otherwise = (_: ClearedError): E => null as E): Promise<T | E> =>
  work().catch(onCode("JOURNAL_FORM", otherwise));

function notWhole({ at, message }: Finding): ClearedError {
  return new ClearedError(
    "JOURNAL_FORM",
    `The books cannot be read completely, so no sum or search of them is possible: ${formatAt(at)}: ${message} Correct it and commit; \`cleared verify\` names every such line.`,
    { at },
  );
}

export function addPostings(totals: Totals, entry: Entry): void {
  for (const posting of entry.postings) addTo(totals, posting.account, posting.currency, toExact(posting.amount));
}

/** The chart of accounts of a tree; empty when it has no main.journal. */
export async function loadChart(tree: Tree): Promise<Chart> {
  const blob = await tree.blob(MAIN_JOURNAL);
  if (blob === null) return parseMain("");
  return charts.load(blob, async () => parseMain((await tree.read(MAIN_JOURNAL)) ?? ""));
}

/** Paths of the months of a tree, oldest first. */
export async function monthFiles(tree: Tree): Promise<string[]> {
  return (await tree.list(JOURNAL))
    .map((entry) => entry.path)
    .filter(isMonthFile)
    .sort();
}

// A long history has a million ids in a few hundred months.
const fileOfMonth = new Map<string, string>();

/** The only month's file that may hold this id; its two-digit year means 1970 to 2069. */
export const monthOfId = (id: string): string => fileOfMonth.getOrInsertComputed(id.slice(0, 4), () => monthFile(dayOfId(id)));

/** The entry of that id, or null. @throws JOURNAL_FORM when it may be an entry that cannot be read */
export async function findEntry(tree: Tree, id: string): Promise<ParsedEntry | null> {
  const file = monthOfId(id);
  return (await loadMonth(tree, file))?.byId.get(id) ?? (await wholeMonth(tree, file))?.byId.get(id) ?? null;
}
