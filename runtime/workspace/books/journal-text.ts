/**
 * Text of the native journal: one strict parser and one canonical printer for a month's entries, so that equal content is equal bytes
 * (spec/books.md 2). Both hledger (`check -s`) and Ledger (`--pedantic --strict`) read this form.
 * Text from banks and scripts is untrusted: `cleanEntry` removes whatever either tool would interpret as syntax.
 */
import { keysInOrder } from "../../kernel/canonical.ts";
import { sharedText } from "../../kernel/kept.ts";
import { ENTRY_STATUSES, type Entry, type EntryStatus, type Finding, type Posting } from "../../kernel/ports.ts";
import { isPlainAmount } from "./amounts.ts";

/** An entry with its place in the file: lines start at 1, `from` and `to` are offsets without the blank line after it. */
export interface ParsedEntry extends Entry {
  line: number;
  from: number;
  to: number;
}

// Ledger reads lines of at most 4096 bytes; 500 characters are at most 2000 bytes of UTF-8.
const MAX_TEXT = 500;
const MAX_COUNTERPARTY = 200;
export const MAX_KEY = 300;

const HEADER = /^(\d{4}-\d{2}-\d{2}) ([*!]) \((\d{6}-[0-9a-z]{10})\) (\S.*)$/;
// A comment line for one of the two tools. Without an indented body it cannot hide an entry.
const REMARK = /^[;#%|*]/;
const TAG = /^ {4}; ([a-z][a-z0-9_-]*): (\S.*)$/;
const AMOUNT = /^(-?[\d.]+) ([A-Z]{2,12})(?: @@ ([\d.]+) ([A-Z]{2,12}))?(?: = (-?[\d.]+) ([A-Z]{2,12}))?$/;
// The tools give these tag names a special meaning (another date, another payee, a valuation).
const RESERVED_TAGS: ReadonlySet<string> = new Set(["date", "date2", "payee", "value", "type", "status", "uuid"]);

export const isTagName = (name: string): boolean => /^[a-z][a-z0-9_-]{0,29}$/.test(name) && !RESERVED_TAGS.has(name);

/** One line of text without control, format and bidi characters; runs of blanks become one. */
function oneLine(text: string, max: number): string {
  // Cf includes the bidi controls, which would show a reviewer another order than that of the bytes; Co and Cn have no assigned meaning.
  const plain = /^[\x20-\x7e]*$/.test(text)
    ? text
    : text
        .toWellFormed()
        .replace(/[\p{Zs}\p{Zl}\p{Zp}\p{Cc}]/gu, " ")
        .replace(/[\p{Cf}\p{Co}\p{Cn}\ufffd]/gu, "");
  const clean = plain.replace(/ {2,}/g, " ").trim();
  return clean.length <= max ? clean : clean.slice(0, max).toWellFormed().replaceAll("\ufffd", "").trimEnd();
}

/** Description or counterparty: `;` would start a comment and `|` separates the two. */
const headerText = (text: string, max: number): string => oneLine(text.replaceAll(";", ",").replaceAll("|", "/"), max);

/**
 * A tag's value that both tools read completely: hledger ends a value at a comma, Ledger reads `[2026` as another date of the entry.
 */
const tagText = (text: string): string => oneLine(text.replaceAll(",", ";").replaceAll("[", "(").replaceAll("]", ")"), MAX_TEXT);

/** The id is the hash of the key, so the key's tag must be reversible: special characters are percent-encoded. */
function encodeKey(key: string): string {
  return /^[\x21-\x24\x26-\x2b\x2d-\x3a\x3c-\x5a\x5c\x5e-\x7e]*$/.test(key)
    ? key
    : key.toWellFormed().replace(/[^\x21-\x24\x26-\x2b\x2d-\x3a\x3c-\x5a\x5c\x5e-\x7e]/gu, encodeCharacter);
}

function encodeCharacter(character: string): string {
  return [...Buffer.from(character, "utf8")].map((byte) => `%${byte.toString(16).padStart(2, "0").toUpperCase()}`).join("");
}

function decodeKey(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    // Not our encoding: the text is taken literally, and `cleared verify` reports that the id is not its hash.
    return text;
  }
}

const cleaned = new WeakSet<Entry>();

/** The entry as it reads after being written: untrusted text made harmless, empty tags dropped. A clean entry is returned unchanged. */
export function cleanEntry(entry: Entry): Entry {
  if (cleaned.has(entry)) return entry;
  const tags: Record<string, string> = {};
  for (const name of keysInOrder(entry.tags)) {
    const raw = entry.tags[name] ?? "";
    const value = name === "key" ? raw.toWellFormed() : tagText(raw);
    if (value !== "") tags[name] = value;
  }
  const clean = {
    id: entry.id,
    date: entry.date,
    status: entry.status,
    counterparty: headerText(entry.counterparty, MAX_COUNTERPARTY),
    description: headerText(entry.description, MAX_TEXT) || "no description",
    tags,
    postings: entry.postings,
  };
  cleaned.add(clean);
  return clean;
}

/** Canonical text of an entry from `cleanEntry` or the parser; ends with a line feed. */
export function printEntry(entry: Entry): string {
  const { counterparty, description } = entry;
  const words = counterparty === "" ? description : `${counterparty} | ${description}`;
  let text = `${entry.date} ${entry.status === "pending-review" ? "!" : "*"} (${entry.id}) ${words}\n`;
  for (const name of keysInOrder({ ...entry.tags, status: entry.status })) {
    const value = name === "status" ? entry.status : (entry.tags[name] ?? "");
    text += `    ; ${name}: ${name === "key" ? encodeKey(value) : value}\n`;
  }
  for (const posting of entry.postings) text += `${printPosting(posting)}\n`;
  return text;
}

function printPosting(posting: Posting): string {
  const cost = posting.cost === undefined ? "" : ` @@ ${posting.cost.amount} ${posting.cost.currency}`;
  const assertion = posting.assertion === undefined ? "" : ` = ${posting.assertion} ${posting.currency}`;
  return `    ${posting.account}  ${posting.amount} ${posting.currency}${cost}${assertion}`;
}

/** Canonical text of a file of entries, in the order given. */
export const printEntries = (entries: readonly Entry[]): string => entries.map(printEntry).join("\n");

/**
 * Entries of a journal file, and the faults of its text by line. An unreadable entry is a finding and is left out, because nothing is
 * guessed. `unread` is the first of these: if it is not null, a sum of the entries is not the sum of the file.
 */
export function parseJournal(text: string, file: string): { entries: ParsedEntry[]; findings: Finding[]; unread: Finding | null } {
  const entries: ParsedEntry[] = [];
  const findings: Finding[] = [];
  let unread: Finding | null = null;
  const wrong = (line: number, message: string): void => {
    findings.push({ code: "JOURNAL_FORM", at: { file, line }, message });
  };
  let at = 0;
  let line = 0;
  let expectBlank = false;
  const windows = text.indexOf("\r");
  if (windows >= 0) {
    const message = "The line ends as on Windows. Save the file with a line feed alone at each line's end.";
    wrong(text.slice(0, windows).split("\n").length, message);
    return { entries, findings, unread: findings[0] ?? null };
  }
  if (text !== "" && !text.endsWith("\n")) wrong(text.split("\n").length, "The file does not end with a line feed.");
  while (at < text.length) {
    const start = at;
    const header = lineAt(text, at);
    at += header.length + 1;
    line++;
    if (header === "") {
      if (!expectBlank || at >= text.length) wrong(line, "A blank line too many; entries are separated by exactly one.");
      expectBlank = false;
      continue;
    }
    if (expectBlank) wrong(line, "A blank line is missing before this entry.");
    const first = line;
    const body: string[] = [];
    while (at < text.length) {
      const next = lineAt(text, at);
      if (next === "" || next.charCodeAt(0) !== 32) break;
      body.push(next);
      at += next.length + 1;
      line++;
    }
    const to = Math.min(at, text.length);
    const entry = parseEntry(header, body, (offset, message) => wrong(first + offset, message));
    if (entry !== null) {
      const parsed: ParsedEntry = { ...entry, line: first, from: start, to };
      const canonical = isPlain(entry, header, body) ? null : printEntry(cleanEntry(entry));
      if (canonical !== null && text.slice(start, to) !== canonical) {
        const lines = canonical.split("\n");
        const bad = [header, ...body].findIndex((one, i) => one !== lines[i]);
        const how = "tags are in alphabetical order, with single spaces and plain characters";
        if (bad >= 0) wrong(first + bad, `Write "${(lines[bad] ?? "").slice(0, 200)}" here: ${how}.`);
      }
      entries.push(parsed);
    } else if (body.length > 0 || !REMARK.test(header)) unread ??= findings.at(-1) ?? null;
    expectBlank = true;
  }
  return { entries, findings, unread };
}

const written = new WeakMap<object, readonly Entry[]>();

/** The change of a step that adds entries, with the text that is recorded. */
export function toChange(entries: readonly Entry[]): { op: "entries"; text: string } {
  const change = { op: "entries" as const, text: printEntries(entries) };
  written.set(change, entries);
  return change;
}

/** Entries of a change from `toChange`; its text is parsed at most once. */
export function entriesOf(change: { text: string }): readonly Entry[] {
  return written.getOrInsertComputed(change, () => parseJournal(change.text, "").entries);
}

// Words separated by single blanks, without any character that is special to one of the tools or to the encoding of the key.
const PLAIN = /^[!-$&-+\--:<-Z\\^-{}~]+(?: [!-$&-+\--:<-Z\\^-{}~]+)*$/;

/** True if the entry's text is certainly canonical, as for nearly every entry. Printing it to compare would take as long as parsing. */
function isPlain({ status, counterparty, description, tags }: Entry, header: string, body: readonly string[]): boolean {
  const isSure = (text: string): boolean => text.length <= MAX_COUNTERPARTY && PLAIN.test(text);
  if (!isSure(description) || (counterparty !== "" && !isSure(counterparty))) return false;
  if ((header[11] === "!") !== (status === "pending-review") || tags["key"]?.includes(" ") === true) return false;
  let [at, before] = [0, ""];
  for (const line of body) {
    if (line[4] !== ";") break;
    const name = sharedText(line.slice(6, line.indexOf(":")));
    const value = name === "status" ? status : tags[name];
    if (name <= before || value === undefined || !isSure(value) || line.length !== 8 + name.length + value.length) return false;
    [at, before] = [at + 1, name];
  }
  return at === Object.keys(tags).length + 1;
}

function lineAt(text: string, at: number): string {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.slice(at) : text.slice(at, end);
}

function parseEntry(header: string, body: string[], wrong: (offset: number, message: string) => void): Entry | null {
  const head = HEADER.exec(header);
  if (head === null) {
    const how = REMARK.test(header)
      ? 'A remark belongs in the entry it is about, as the tag "    ; note: TEXT"'
      : 'Write DATE MARK (ID) Description, such as "2026-11-06 * (261106-0000000000) Stamps"; with a line "    ; key: ..." below, `cleared verify` names the right id';
    wrong(0, `"${header.slice(0, 60)}" is not the first line of an entry. ${how}.`);
    return null;
  }
  const [, date = "", mark, id = "", words = ""] = head;
  const bar = words.indexOf(" | ");
  const tags: Record<string, string> = {};
  const postings: Posting[] = [];
  // Never put into `tags`: deleting it there again would make that object three times as large.
  let status: EntryStatus | undefined;
  for (const [index, text] of body.entries()) {
    const tag = postings.length === 0 ? TAG.exec(text) : null;
    if (tag !== null) {
      const name = sharedText(tag[1] ?? "");
      // A trailing blank is reported by the comparison with the canonical form.
      const value = (tag[2] ?? "").trimEnd();
      if (Object.hasOwn(tags, name) || (name === "status" && status !== undefined)) wrong(index + 1, `The tag "${name}" appears twice.`);
      if (name === "status") status = (ENTRY_STATUSES.find((one) => one === value) ?? value) as EntryStatus;
      else tags[name] = name === "key" ? decodeKey(value) : name === "run" ? sharedText(value) : value;
      continue;
    }
    const posting = parsePosting(text);
    if (posting === null) {
      const how = "Write four spaces, the account, two spaces, amount and currency";
      wrong(index + 1, `"${text.slice(0, 60)}" is neither a tag nor a posting. ${how}.`);
      return null;
    }
    postings.push(posting);
  }
  if (status === undefined || !ENTRY_STATUSES.includes(status)) {
    wrong(0, `The entry has no status among ${ENTRY_STATUSES.join(", ")}.`);
    return null;
  }
  if ((mark === "!") !== (status === "pending-review")) wrong(0, `The mark "${mark}" does not fit the status ${status}.`);
  return {
    id,
    date,
    status,
    counterparty: bar < 0 ? "" : words.slice(0, bar),
    description: bar < 0 ? words : words.slice(bar + 3),
    tags,
    postings,
  };
}

function parsePosting(text: string): Posting | null {
  if (!text.startsWith("    ") || text[4] === " " || text[4] === ";") return null;
  const gap = text.indexOf("  ", 4);
  const match = gap < 0 ? null : AMOUNT.exec(text.slice(gap + 2));
  if (match === null) return null;
  const [, amount = "", currency = "", price, priceCurrency, assertion, assertionCurrency] = match;
  if (![amount, price, assertion].every((value) => value === undefined || isPlainAmount(value))) return null;
  if (assertionCurrency !== undefined && assertionCurrency !== currency) return null;
  return {
    account: sharedText(text.slice(4, gap)),
    amount,
    currency: sharedText(currency),
    ...(price === undefined || priceCurrency === undefined ? {} : { cost: { amount: price, currency: priceCurrency } }),
    ...(assertion === undefined ? {} : { assertion }),
  };
}
