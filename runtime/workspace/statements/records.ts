/**
 * CSV text to records with their line numbers. The only file that imports papaparse.
 * A quote that is never closed costs its own line, not the rest of the file.
 */
import { createRequire } from "node:module";
import { occurrences } from "./cells.ts";

// Loaded when the first statement is read: most processes read none.
const load = createRequire(import.meta.url);
const papaparse = () => load("papaparse") as typeof import("papaparse");

export interface CsvRecord {
  cells: string[];
  /** Line on which the record begins, from 1. */
  line: number;
  /** Set when the line's quotes do not match: the cells are not to be trusted. */
  broken?: string;
}

export interface CsvRecords {
  records: CsvRecord[];
  /** True when the text goes on behind the last record. */
  more: boolean;
}

// 64 cells in each of 200,000 rows. Without a bound 64 MiB of commas become 64 million strings.
const CELL_LIMIT = 12_800_000;

// A file with more broken lines than this is something else than CSV with slips.
const BROKEN_LIMIT = 1000;

/** Records without blank ones, of at most `limit` lines; null when the text is not CSV in this delimiter. */
export function readRecords(text: string, delimiter: string, limit: number): CsvRecords | null {
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
 * Looked for before papaparse sees the text, because that keeps an error object for each bad quote of a hostile file.
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

/** Index of the quote that ends a cell, or -1; a doubled quote is one inside it. No cell of a bank is longer than 64 KiB. */
function closingQuote(text: string, open: number): number {
  let end = text.indexOf('"', open + 1);
  while (end >= 0 && end - open < 65_536 && text.charAt(end + 1) === '"') end = text.indexOf('"', end + 2);
  return end - open < 65_536 ? end : -1;
}

const lineEnds = (text: string): number => occurrences(text, "\n");
