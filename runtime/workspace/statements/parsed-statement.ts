/**
 * What a run remembers of a statement it has parsed: enough to book its rows and to write its receipt. Stored with the step that parsed
 * it (`toMeta`), beside the rows the script got, because the file itself may be gone when the run resumes.
 */
import { currencyPlaces } from "../../kernel/money.ts";
import type { AskedRow, Json, Refused, Row } from "../../kernel/ports.ts";
import { fromExact, toExact } from "../books/amounts.ts";
import type { Statement } from "./proof.ts";
import type { Stated } from "./receipt.ts";
import type { BookedRow } from "../books/view-books.ts";

/** What a run needs to remember of one row. */
export interface ParsedRow extends BookedRow {
  reference: string;
  text: string;
  twin: boolean;
}

/** One account's part of a statement file. */
export interface Part {
  account: string;
  /** Balances stated by the bank, by currency. */
  stated: Stated[];
  rows: ParsedRow[];
  /** Ids of the entries that rows already were; `same`: those that a person has confirmed, by id of the row. */
  known: string[];
  same: Record<string, string>;
  asked: AskedRow[];
  /** Rows whose entry was deleted by hand, with their text. */
  removed: { row: string; entry: string; words: string }[];
}

export interface Parsed {
  hash: string;
  dialect: string;
  parts: Part[];
  refused: Refused[];
  /** Number of rows left to later runs. */
  later: number;
  /** Hash of the statement that this one begins with, or null. */
  earlier: string | null;
  /** Text of the dialect file that would probably read the file, or null. */
  guess: string | null;
}

/** The balances that statements state for one account; `closed`: the last day of the closed period, or "". */
export function statedOf(account: string, statements: Statement[], closed: string): Stated[] {
  return [...Map.groupBy(statements, (statement) => statement.currency)].map(([currency, group]): Stated => {
    const all = group.flatMap((statement) => (statement.newest_first ? statement.rows.toReversed() : statement.rows));
    const [first = null] = all
      .map((row) => row.date)
      .filter((day) => day > closed)
      .sort();
    const days = [...all.map((row) => row.date), ...group.flatMap(({ from, to }) => [from, to].filter((day) => day !== null))].sort();
    const [only, second] = group;
    // Of several statements for one account and currency in a file, none can be tied to the books.
    const { opening, closing } = only !== undefined && second === undefined ? only : { opening: null, closing: null };
    // The balance at the end of the closed period; unknown while a row is refused, because its amount is unknown.
    const before = all.filter((row) => row.date <= closed).reduce((sum, row) => sum + toExact(row.amount), 0n);
    const isKnown = opening !== null && (all.every((row) => row.date > closed) || only?.refused.length === 0);
    return {
      account,
      currency,
      from: days[0] ?? null,
      to: days.at(-1) ?? null,
      first,
      morning: all.filter((row) => row.date === first).map((row) => row.amount),
      opening: isKnown ? fromExact(toExact(opening) + before, currencyPlaces(currency)) : null,
      closing,
    };
  });
}

/** A row that the script gets; `held`: the entry that represents it. */
export function toParsedRow({ id, date, currency, reference, description }: Row, key: string, twin: boolean, held?: string): ParsedRow {
  return { id, key, date, currency, reference, text: description, twin, ...(held === undefined ? {} : { held }) };
}

type PartMeta = Omit<Part, "rows"> & { keys: string[]; twins: number[]; held: [number, string][] };

/** The data that the rows in the step's result do not contain. */
export function toMeta(parsed: Parsed): Json {
  const parts = parsed.parts.map(
    ({ rows, ...rest }): PartMeta => ({
      ...rest,
      keys: rows.map((row) => row.key),
      twins: rows.flatMap((row, i) => (row.twin ? [i] : [])),
      held: rows.flatMap((row, i) => (row.held === undefined ? [] : [[i, row.held] as [number, string]])),
    }),
  );
  const { dialect, refused, later, earlier, guess } = parsed;
  return { dialect, refused, later, earlier, guess, parts } as unknown as Json;
}

export function fromMeta(hash: string, meta: Json, rows: Row[]): Parsed {
  // Steps recorded by an earlier version lack the last three.
  const known = meta as unknown as Omit<Parsed, "parts" | "hash"> & { parts: PartMeta[] };
  const { parts, dialect, refused, later = 0, earlier = null, guess = null } = known;
  let at = 0;
  return {
    hash,
    dialect,
    refused,
    later,
    earlier,
    guess,
    parts: parts.map(({ keys, twins, held, ...rest }) => {
      const own = rows.slice(at, (at += keys.length));
      const [twin, holders] = [new Set(twins), new Map(held)];
      return { ...rest, rows: own.map((row, i) => toParsedRow(row, keys[i] ?? "", twin.has(i), holders.get(i))) };
    }),
  };
}
