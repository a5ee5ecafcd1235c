/**
 * Row identity: the import key that makes importing idempotent, overlap-safe and twin-safe (spec/books.md 1.1).
 * A key depends only on what the bank says about the row, not on the file, its order or its range.
 */
import { hash } from "node:crypto";
import type { Row } from "../../kernel/ports.ts";
import { entryId } from "../books/entry-id.ts";
import type { ParsedRow, Statement } from "./proof.ts";

/** A row with the data that the books need and scripts do not see. */
export interface KeyedRow {
  row: Row;
  /** Import key; `row.id` is its hash. One line without blanks, commas or control characters. */
  key: string;
  line: number;
  /** True when an equal row of that day comes before it: two coffees are two entries. */
  twin: boolean;
}

// Some banks number the rows of each file from 1 and call that an id; the next file uses the same numbers for other rows.
const COUNTER = /^\d{1,5}$/;

/**
 * Rows of a file's statements that belong to one account, in the order of the file. Pass all statements of a file for one account
 * together, so that equal rows in two of them remain two rows.
 */
export function toKeyedRows(statements: readonly Statement[], account: string): KeyedRow[] {
  const parsed = statements.flatMap((statement) => (statement.newest_first ? statement.rows.toReversed() : statement.rows));
  const stems = new Map<ParsedRow, string>();
  const bankIds = new Map<string, number>();
  for (const row of parsed) {
    stems.set(row, keyStem(row, account));
    if (row.bank_id !== null) bankIds.set(row.bank_id, (bankIds.get(row.bank_id) ?? 0) + 1);
  }
  const ordinals = new Map<ParsedRow, number>();
  for (const group of Map.groupBy(parsed, (row) => stems.get(row)).values()) {
    // Rows with one bank id may differ in their text: sorted by text, then by time, so that the order of the file does not matter.
    const ordered =
      group.length === 1
        ? group
        : group.toSorted((a, b) => (a.raw_description < b.raw_description ? -1 : a.raw_description > b.raw_description ? 1 : 0));
    for (const [ordinal, row] of ordered.entries()) ordinals.set(row, ordinal);
  }
  const inFileOrder = statements.flatMap((statement) => statement.rows);
  return inFileOrder.map((row) => {
    const ordinal = ordinals.get(row) ?? 0;
    const key = `${stems.get(row)}:${ordinal}`;
    const id = entryId(row.date, key);
    // A bank id is the reference for scripts only if it names one row; a counter names another row in the next file.
    const reference = row.bank_id !== null && bankIds.get(row.bank_id) === 1 && !COUNTER.test(row.bank_id) ? row.bank_id : id;
    return { row: toRow(row, id, reference, account), key, line: row.line, twin: ordinal > 0 };
  });
}

/** The row's id under another word for its account: keys used to begin with the account as its rule wrote it, also by name. */
export const idUnder = (word: string, { row, key }: KeyedRow): string => entryId(row.date, `${word}${key.slice(row.account.length)}`);

/** The key without its ordinal. It includes day and amount even with a bank id, because some banks reuse an id for another row. */
function keyStem(row: ParsedRow, account: string): string {
  const mark =
    row.bank_id === null || COUNTER.test(row.bank_id)
      ? short(row.raw_description)
      : /^[A-Za-z0-9._~/+=-]{1,64}$/.test(row.bank_id)
        ? `id.${row.bank_id}`
        : `id-${short(row.bank_id)}`;
  return `${account}:${row.date.replaceAll("-", "")}:${row.amount}:${row.currency}:${mark}`;
}

/** The facts of a row that its key contains. */
export type RowFacts = Pick<Row, "account" | "date" | "amount" | "currency">;

/** The facts in the key of an entry that a row of a statement became; null for any other key. */
export function factsOfKey(key: string): RowFacts | null {
  const [, account = "", year, month, day, amount = "", currency = ""] =
    /^(.+):(\d{4})(\d\d)(\d\d):(-?[\d.]+):([A-Z]+):[^:]+:\d+(?:#\d+)?$/.exec(key) ?? [];
  return year === undefined ? null : { account, date: `${year}-${month}-${day}`, amount, currency };
}

/** The key of the next equal row of that day. */
export const nextTwin = (key: string): string => key.replace(/\d+$/, (ordinal) => String(Number(ordinal) + 1));

/** 64 bits: different texts on one day with one amount do not collide. */
const short = (text: string): string => hash("sha256", text, "hex").slice(0, 16);

function toRow(parsed: ParsedRow, id: string, reference: string, account: string): Row {
  const { date, description, raw_description, amount, currency, type, counterparty, balance } = parsed;
  const row: Row = { id, date, description, raw_description, amount, currency, reference, type, account };
  if (counterparty !== undefined) row.counterparty = counterparty;
  if (balance !== undefined) row.balance = balance;
  return row;
}
