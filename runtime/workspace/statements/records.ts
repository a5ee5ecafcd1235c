/**
 * Bytes of a statement to text, and CSV text to records with their line numbers. The only file that imports papaparse.
 * UTF-8 is strict; any other encoding must be declared by a byte order mark, the dialect or the format itself: a wrong guess would put
 * mojibake into descriptions, which are part of a row's identity. An unclosed quote costs its own line, not the rest of the file.
 */
import { createRequire } from "node:module";
import { occurrences } from "./cells.ts";
import { ClearedError, type Code } from "../../kernel/errors.ts";

// Loaded with the first statement, because most processes read none.
const load = createRequire(import.meta.url);
const papaparse = () => load("papaparse") as typeof import("papaparse");

/** The error for a file that cannot be read. `parseStatement` adds its name. */
export const unreadable = (code: Code, message: string, line?: number, data?: Record<string, unknown>): ClearedError =>
  new ClearedError(code, message, { at: { file: "", ...(line === undefined ? {} : { line }) }, data });

export interface CsvRecord {
  cells: string[];
  /** Line on which the record begins, from 1. */
  line: number;
  /** Set when the line's quotes do not match, so its cells cannot be trusted. */
  broken?: string;
}

// 64 cells in each of 200,000 rows. Without a bound, 64 MiB of commas would become 64 million strings.
const CELL_LIMIT = 12_800_000;

// A file with more broken lines than this is not CSV.
const BROKEN_LIMIT = 1000;

/** Non-blank records of at most `limit` lines, and whether the text continues after them; null when it is not CSV with this delimiter. */
export function readRecords(text: string, delimiter: string, limit: number): { records: CsvRecord[]; more: boolean } | null {
  if (text.length > CELL_LIMIT && occurrences(text, delimiter, CELL_LIMIT) > CELL_LIMIT) return null;
  const plain = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
  const records: CsvRecord[] = [];
  let left = limit;
  let line = 1;
  let at = 0;
  for (let broken = 0; broken <= BROKEN_LIMIT; broken++) {
    const fault = badQuotes(plain, delimiter, at);
    const piece = plain.slice(at, fault?.start ?? plain.length);
    const parsed = papaparse().parse<string[]>(piece, { delimiter, newline: "\n", header: false, skipEmptyLines: false, preview: left });
    const quoted = piece.includes('"');
    let row = line;
    for (const cells of parsed.data) {
      if (cells.some((cell) => cell.trim() !== "")) records.push({ cells, line: row });
      row += 1 + (quoted ? cells.reduce((sum, cell) => sum + lineEnds(cell), 0) : 0);
    }
    left -= parsed.data.length;
    if (fault === null) return { records, more: parsed.meta.truncated };
    if (parsed.meta.truncated || left <= 0) return { records, more: true };
    line += lineEnds(piece);
    records.push({ cells: [], line, broken: "A quotation mark is opened and not closed, or is inside a quoted cell." });
    line += lineEnds(plain.slice(fault.start, fault.next));
    at = fault.next;
  }
  return null;
}

/**
 * The first record from `from` on whose quotes do not match: where it starts, and where the line after its opening quote starts.
 * Searched before papaparse gets the text, because it keeps an error object for each bad quote of a hostile file.
 */
function badQuotes(text: string, delimiter: string, from: number): { start: number; next: number } | null {
  let start = from;
  let closed = from;
  for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', closed)) {
    const lineStart = Math.max(text.lastIndexOf("\n", quote - 1) + 1, from);
    // A line that begins inside a quoted cell belongs to the record before.
    if (lineStart >= closed) start = lineStart;
    closed = quote + 1;
    const before = text.charAt(quote - 1);
    // A quote in the middle of an unquoted cell is text.
    if (quote !== from && before !== delimiter && before !== "\n") continue;
    const end = closingQuote(text, quote);
    let after = end + 1;
    while (text.charAt(after) === " ") after++;
    if (end < 0 || !(end + 1 === text.length || text.charAt(after) === delimiter || text.charAt(after) === "\n")) {
      const lineEnd = text.indexOf("\n", quote);
      return { start, next: lineEnd < 0 ? text.length : lineEnd + 1 };
    }
    closed = end + 1;
  }
  return null;
}

/** Index of the quote that ends a cell, or -1; a doubled quote is a quote inside it. Cells of banks are not longer than 64 KiB. */
function closingQuote(text: string, open: number): number {
  let end = text.indexOf('"', open + 1);
  while (end >= 0 && end - open < 65_536 && text.charAt(end + 1) === '"') end = text.indexOf('"', end + 2);
  return end - open < 65_536 ? end : -1;
}

const lineEnds = (text: string): number => occurrences(text, "\n");

export const ENCODINGS = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** The encoding of the byte order mark, or null. */
function markOf(bytes: Uint8Array): Encoding | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return null;
}

/**
 * The text without its byte order mark, which takes precedence over `declared`.
 * @throws STATEMENT_ENCODING with the line of the first bad byte
 */
export function decode(bytes: Uint8Array, declared: Encoding): string {
  const mark = markOf(bytes);
  const encoding = mark ?? declared;
  const text = tryDecode(bytes, encoding);
  if (text === null) {
    const message = `The file is not ${encoding}. Export it as UTF-8, or set encoding: windows-1252 in its dialect if that is what the bank writes.`;
    throw unreadable("STATEMENT_ENCODING", message, badLine(bytes, encoding));
  }
  if (mark === null && encoding === "windows-1252" && isMultiByteUtf8(bytes)) {
    const message = "The dialect says windows-1252, but the file is UTF-8. Export it as before, or set encoding: utf-8 in its dialect.";
    throw unreadable("STATEMENT_ENCODING", message);
  }
  assertText(text);
  return text;
}

/** @throws STATEMENT_ENCODING for binary content; a single NUL in a statement costs only its own row */
export function assertText(text: string): void {
  if (occurrences(text, "\0", text.length / 20) * 20 <= text.length) return;
  const message = "The file is binary, or UTF-16 without a byte order mark. Export it as UTF-8 text.";
  throw unreadable("STATEMENT_ENCODING", message, lineAt(text, text.indexOf("\0")));
}

/** Why a row with a NUL character is refused: a disk or a download has lost its content. */
export const DAMAGED = "The row contains a NUL character: the file is damaged here. Download it again.";

/** Bytes that `peek` decodes. */
export const PEEKED = 65_536;

/** The first 64 KiB as text, for use before the dialect, and with it the encoding, is known; never fails. */
export function peek(bytes: Uint8Array): string {
  const top = bytes.subarray(0, PEEKED);
  const mark = markOf(top);
  return new TextDecoder(mark ?? (tryDecode(top, "utf-8", true) === null ? "windows-1252" : "utf-8")).decode(top, { stream: true });
}

/** True when the bytes are UTF-8 with at least one character outside ASCII, which text in windows-1252 is not by chance. */
export const isMultiByteUtf8 = (bytes: Uint8Array): boolean => bytes.some((byte) => byte > 127) && tryDecode(bytes, "utf-8") !== null;

/** The text, or null if the bytes are not in this encoding. With `cut` they may end in the middle of a character. */
function tryDecode(bytes: Uint8Array, encoding: Encoding, cut = false): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: cut });
  } catch (error) {
    // A fatal decoder throws TypeError for bytes of another encoding; any other error is not expected here.
    if (error instanceof TypeError) return null;
    throw error;
  }
}

function badLine(bytes: Uint8Array, encoding: Encoding): number {
  const text = new TextDecoder(encoding).decode(bytes);
  const bad = text.indexOf("\ufffd");
  return lineAt(text, bad < 0 ? text.length : bad);
}

const lineAt = (text: string, offset: number): number => 1 + occurrences(text.slice(0, offset), "\n");
