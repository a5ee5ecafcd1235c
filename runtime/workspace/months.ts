/**
 * Reading the books from a tree: months and the chart, parsed once per blob. An id carries its day, so everything about one entry
 * is in one month's file; a commit therefore reads only the months it touches, however long the history is.
 */
import type { Entry, Finding, Tree } from "../ports.ts";
import { addTo, toExact, type Totals } from "./amounts.ts";
import { type ParsedEntry, parseJournal } from "./journal-text.ts";
import { JOURNAL, MAIN_JOURNAL } from "./layout.ts";
import { type Chart, isMonthFile, parseMain } from "./main-journal.ts";

export interface Month {
  file: string;
  text: string;
  entries: readonly ParsedEntry[];
  byId: ReadonlyMap<string, ParsedEntry>;
  findings: readonly Finding[];
  /** Sum of the month's postings by account and currency. */
  totals: Totals;
}

// Parsed entries cost about twelve times their text; 12 MiB of text (40,000 entries) keep an idle owner well below its 200 MB.
const CACHE_CHARS = 12 * 1024 * 1024;
const cache = new Map<string, Month>();
let cachedChars = 0;
const charts = new Map<string, Chart>();

/** The month's entries, or null when the tree has no such file. */
export async function loadMonth(tree: Tree, file: string): Promise<Month | null> {
  const blob = await tree.blob(file);
  if (blob === null) return null;
  const name = `${file}@${blob}`;
  const hit = cache.get(name);
  if (hit !== undefined) {
    cache.delete(name);
    cache.set(name, hit);
    return hit;
  }
  const month = toMonth(file, (await tree.read(file)) ?? "");
  cache.set(name, month);
  cachedChars += month.text.length;
  for (const [old, { text }] of cache) {
    if (cachedChars <= CACHE_CHARS || old === name) break;
    cache.delete(old);
    cachedChars -= text.length;
  }
  return month;
}

// By blob. Ids alone are a fortieth of parsed entries, and what a statement of years asks for is ids in all of its months.
const CACHED_IDS = 200_000;
const ids = new Map<string, ReadonlySet<string>>();

/** Ids of the month's entries, without reading more of them. */
export async function idsOf(tree: Tree, file: string): Promise<ReadonlySet<string>> {
  const blob = await tree.blob(file);
  if (blob === null) return new Set();
  const known = ids.get(blob);
  if (known !== undefined) return known;
  const text = (await tree.read(file)) ?? "";
  const found = new Set([...text.matchAll(/^\d{4}-\d\d-\d\d [*!] \((\d{6}-[0-9a-z]{10})\)/gm)].map(([, id]) => id ?? ""));
  ids.set(blob, found);
  let count = [...ids.values()].reduce((sum, { size }) => sum + size, 0);
  for (const [old, { size }] of ids) {
    if (count <= CACHED_IDS || old === blob) break;
    ids.delete(old);
    count -= size;
  }
  return found;
}

export function toMonth(file: string, text: string): Month {
  const { entries, findings } = parseJournal(text, file);
  const byId = new Map<string, ParsedEntry>();
  const totals: Totals = new Map();
  for (const entry of entries) {
    byId.set(entry.id, entry);
    addPostings(totals, entry);
  }
  return { file, text, entries, byId, findings, totals };
}

export function addPostings(totals: Totals, entry: Entry): void {
  for (const posting of entry.postings) addTo(totals, posting.account, posting.currency, toExact(posting.amount));
}

/** The chart of accounts of a tree; empty when it has no main.journal. */
export async function loadChart(tree: Tree): Promise<Chart> {
  const blob = await tree.blob(MAIN_JOURNAL);
  if (blob === null) return parseMain("");
  const hit = charts.get(blob);
  if (hit !== undefined) return hit;
  const chart = parseMain((await tree.read(MAIN_JOURNAL)) ?? "");
  if (charts.size >= 8) charts.clear();
  charts.set(blob, chart);
  return chart;
}

/** Paths of the months of a tree, oldest first. */
export async function monthFiles(tree: Tree): Promise<string[]> {
  return (await tree.list(JOURNAL))
    .map((entry) => entry.path)
    .filter(isMonthFile)
    .sort();
}

/** The only month's file that may hold this id: two digits of a year from 1970 to 2069. */
export function monthOfId(id: string): string {
  const year = id.slice(0, 2);
  return `${JOURNAL}${year >= "70" ? "19" : "20"}${year}/${id.slice(2, 4)}.journal`;
}

/** The entry of that id, or null. */
export async function findEntry(tree: Tree, id: string): Promise<ParsedEntry | null> {
  return (await loadMonth(tree, monthOfId(id)))?.byId.get(id) ?? null;
}
