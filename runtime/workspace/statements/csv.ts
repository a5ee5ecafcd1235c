/**
 * Rows of a CSV statement in a known dialect. A bad row is refused with its line and a reason; it never stops the others.
 */
import type { ClearedError } from "../../kernel/errors.ts";
import type { Refused } from "../../kernel/ports.ts";
import { negated } from "../books/amounts.ts";
import { amountReader, type AmountReader, cleanText, collapse, datePattern, excerpt, readDay } from "./cells.ts";
import { type Column, type Dialect, hasHeader, matchTemplate } from "./dialect.ts";
import { type CsvRecord, DAMAGED, readRecords, unreadable } from "./records.ts";
import { cellCounts, headerIndex, headerName, requiredNames } from "./match.ts";
import { NOTHING_STATED, type ParsedRow, prove, type Refusal, type StatedBalances, type Statement, toRow } from "./proof.ts";

/** More rows than any bank exports at once. */
export const ROW_LIMIT = 200_000;
export const MOST_ROWS = ROW_LIMIT.toLocaleString("en-US");

interface Reader {
  dialect: Dialect;
  /** Numbers of cells a row may have: the header's, or those the dialect allows. */
  counts: number[] | null;
  index(column: Column | undefined): number;
  description: number[];
  amount: AmountReader;
  /** How days are written. */
  form: { pattern: RegExp; words: string };
  currency: string;
}

/**
 * The statements in a text, one per bank account; exactly one when no row names an account.
 * @throws STATEMENT_DIALECT, STATEMENT_INVALID, FILE_TOO_LARGE
 */
export function readCsv(text: string, dialect: Dialect, defaultCurrency: string): Statement[] {
  const read = readRecords(text, dialect.delimiter, ROW_LIMIT + 1000);
  if (read === null)
    throw unreadable("STATEMENT_INVALID", "This is not CSV: it has millions of cells, or quotation marks that do not match in many lines.");
  const { records } = read;
  const header = hasHeader(dialect) ? headerIndex(records, dialect) : -1;
  if (hasHeader(dialect) && header < 0) throw headerMissing(records, dialect);
  const rows = records.slice(header + 1);
  if (read.more || rows.length > ROW_LIMIT)
    throw unreadable("FILE_TOO_LARGE", `The statement has more than ${MOST_ROWS} rows. Export it in shorter ranges.`);
  const reader = createReader(dialect, header < 0 ? null : (records[header] ?? null), defaultCurrency);
  const stated = dialect.preamble === undefined ? null : readPreamble(text, dialect, reader);
  const statements = new Map<string | null, ReturnType<typeof emptyStatement>>();
  const draft = (account: string | null) =>
    statements.getOrInsertComputed(account, () => emptyStatement(dialect, account, reader.currency));
  const refused: Refused[] = [];
  let shapeFaults = 0;
  let skipped = 0;
  for (const record of rows) {
    const row = isSkipped(record, reader) ? null : readRow(record, reader);
    if (row === null) skipped++;
    else if ("reason" in row) {
      if (row.shape === true) shapeFaults++;
      refused.push({ line: record.line, code: "STATEMENT_ROW", message: row.reason });
    } else draft(row.account ?? stated?.account ?? null).rows.push(row.parsed);
  }
  // At least three rows in another date form and none in the dialect's: the dialect is wrong, not the rows.
  if (shapeFaults >= 3 && shapeFaults === rows.length - skipped) {
    const [{ line, message } = { line: 1, message: "" }] = refused;
    const todo = "Set date: in a dialect in importers/, or in mapping: of config.yaml.";
    throw unreadable("STATEMENT_DIALECT", `The dialect ${dialect.name} expects days as ${dialect.date}. ${message} ${todo}`, line);
  }
  // The account of an unreadable row is unknown, so the first statement carries all of them.
  const first = statements.values().next().value ?? draft(stated?.account ?? null);
  first.refused = refused;
  first.skipped = skipped;
  return [...statements.values()].map((one) =>
    prove(
      { ...one, currency: commonCurrency(one.rows) ?? one.currency },
      statements.size === 1 && stated !== null ? stated : NOTHING_STATED,
    ),
  );
}

/** The currency of all rows, or null when there are none or several. */
function commonCurrency(rows: ParsedRow[]): string | null {
  const first = rows[0]?.currency ?? null;
  return rows.every((row) => row.currency === first) ? first : null;
}

function emptyStatement(dialect: Dialect, account: string | null, currency: string) {
  const rows: ParsedRow[] = [];
  const refused: Refused[] = [];
  return { dialect: dialect.name, account, bank: null, card: dialect.card, currency, rows, refused, skipped: 0 };
}

function createReader(dialect: Dialect, header: CsvRecord | null, defaultCurrency: string): Reader {
  const names = (header?.cells ?? []).map(headerName);
  const index = (column: Column | undefined): number => {
    if (column === undefined) return -1;
    if (typeof column === "number") return column - 1;
    const name = headerName(column);
    if (names.indexOf(name) !== names.lastIndexOf(name)) {
      const message = `The header has "${excerpt(column)}" twice. Give that column by number in the dialect ${dialect.name}.`;
      throw unreadable("STATEMENT_DIALECT", message, header?.line ?? 1);
    }
    return names.indexOf(name);
  };
  const counts = cellCounts(dialect) ?? (header === null ? null : [names.length]);
  const cached = new Map<Column | undefined, number>();
  const lookup = (column: Column | undefined): number => cached.getOrInsertComputed(column, index);
  return {
    dialect,
    counts,
    index: lookup,
    description: [dialect.columns.description].flat().map(lookup),
    amount: amountReader(dialect.amount),
    // The dialect's schema has checked the form.
    form: { pattern: datePattern(dialect.date) as RegExp, words: `written as ${dialect.date}` },
    currency: dialect.currency ?? defaultCurrency,
  };
}

function isSkipped(record: CsvRecord, reader: Reader): boolean {
  return reader.dialect.skip.some((rule) => {
    const cell = record.cells[reader.index(rule.column)]?.trim();
    if (cell === undefined) return false;
    return (
      rule.is?.includes(cell) === true ||
      (rule.starts !== undefined && cell.startsWith(rule.starts)) ||
      (rule.empty === true && cell === "")
    );
  });
}

function readRow(record: CsvRecord, reader: Reader): { parsed: ParsedRow; account: string | null } | Refusal {
  if (record.broken !== undefined) return { reason: record.broken };
  const { cells } = record;
  if (cells.some((cell) => cell.includes("\0"))) return { reason: DAMAGED };
  const { columns } = reader.dialect;
  const miscounted = countFault(cells, reader.counts);
  if (miscounted !== null) return { reason: miscounted };
  const cell = (column: Column | undefined): string => (column === undefined ? "" : (cells[reader.index(column)] ?? "").trim());
  const date = cell(columns.date);
  if (date === "") return { reason: "The date is empty." };
  const currency = cell(columns.currency) || reader.currency;
  const amount = readAmount(cell, reader, currency);
  const texts = reader.description.map((at) => (at < 0 ? "" : cleanText(cells[at] ?? "").trim()));
  const text = [...new Set(texts)].filter((one) => one !== "").join(" ");
  const [type, id, counterparty] = [cell(columns.type), cell(columns.id), cell(columns.counterparty)];
  const parsed = toRow({ line: record.line, date, currency, amount, text, type, id, counterparty }, reader.form);
  if ("reason" in parsed) return parsed;
  const balance = cell(columns.balance) === "" ? null : reader.amount(cell(columns.balance), currency);
  if (balance !== null && "reason" in balance) return { reason: `The balance cannot be read: ${balance.reason}` };
  if (balance !== null) parsed.balance = balance.amount;
  return { parsed, account: collapse(cleanText(cell(columns.account))) || null };
}

/** Extra cells at the end are allowed when they are empty: some banks end each line with a comma. */
function countFault(cells: string[], counts: number[] | null): string | null {
  if (counts === null || counts.includes(cells.length)) return null;
  const most = Math.max(...counts);
  if (cells.length > most && cells.slice(most).every((cell) => cell.trim() === "")) return null;
  const hint = cells.length < Math.min(...counts) ? "a column is missing" : "a cell with the delimiter in it may lack its quotation marks";
  return `The row has ${cells.length} cells instead of ${counts.join(" or ")}: ${hint}.`;
}

type Read = ReturnType<AmountReader>;

function readAmount(cell: (column: Column | undefined) => string, reader: Reader, currency: string): Read {
  const { columns, direction, sign } = reader.dialect;
  if (columns.amount === undefined) return readTwoColumns(cell(columns.out), cell(columns.in), reader, currency);
  const read = reader.amount(cell(columns.amount), currency);
  if ("reason" in read) return read;
  const inverse = { amount: negated(read.amount) };
  if (direction !== undefined) {
    const word = cell(direction.column);
    const out = direction.out.includes(word);
    if (!out && !direction.in.includes(word))
      return { reason: `"${excerpt(word)}" is neither ${direction.out.join(", ")} (out) nor ${direction.in.join(", ")} (in).` };
    if (read.amount.startsWith("-"))
      return { reason: `"${excerpt(cell(columns.amount))}" is negative although the word "${excerpt(word)}" gives the direction.` };
    return out ? inverse : read;
  }
  return sign === "inverted" ? inverse : read;
}

function readTwoColumns(outText: string, inText: string, reader: Reader, currency: string): Read {
  const [out, into] = [outText, inText].map((text) => (text === "" ? null : reader.amount(text, currency)));
  for (const side of [out, into]) if (side && "reason" in side) return side;
  // Some banks write 0.00 into the column that does not apply.
  const value = (side: typeof out) => (side && "amount" in side && !/^[0.]+$/.test(side.amount) ? side.amount : null);
  const [paid, received] = [value(out), value(into)];
  if (paid !== null && received !== null) return { reason: `Both money out (${paid}) and money in (${received}) are given.` };
  if (out === null && into === null) return { reason: "Neither money out nor money in is given." };
  if ((paid ?? received)?.startsWith("-"))
    return { reason: `"${excerpt(outText || inText)}" is negative although its column gives the direction.` };
  return { amount: paid === null ? (received ?? "0") : negated(paid) };
}

/** The values in the lines before the header. An unreadable date or amount there is left out: only the balance proof is lost. */
function readPreamble(text: string, dialect: Dialect, reader: Reader): StatedBalances & { account: string | null } {
  const found: Record<string, string> = {};
  for (const line of text.slice(0, 20_000).split(/\r\n|\n|\r/, 20)) {
    for (const template of dialect.preamble ?? []) Object.assign(found, matchTemplate(template, line));
  }
  const day = (name: string) => {
    const read = readDay(found[name] ?? "", reader.form.pattern);
    return "day" in read ? read.day : null;
  };
  const amount = (name: string) => {
    const read = reader.amount(found[name] ?? "", reader.currency);
    return "amount" in read ? read.amount : null;
  };
  const closing = amount("closing");
  const closingDay = day("closing_date") ?? day("to");
  return {
    account: collapse(cleanText(found.account ?? "")) || null,
    opening: amount("opening"),
    closing: closing === null || closingDay === null ? null : { date: closingDay, amount: closing },
    from: day("from"),
    to: day("to"),
  };
}

function headerMissing(records: CsvRecord[], dialect: Dialect): ClearedError {
  const first = records[0];
  const present = new Set((first?.cells ?? []).map(headerName));
  const missing = requiredNames(dialect).filter((name) => !present.has(headerName(name)));
  const header = excerpt(first?.cells.join(dialect.delimiter) ?? "");
  const message = `The dialect ${dialect.name} needs the columns ${missing.map((name) => `"${name}"`).join(", ")}, but the first line is: ${header}. Correct the dialect or the mapping in config.yaml.`;
  return unreadable("STATEMENT_DIALECT", message, first?.line ?? 1, { header });
}
