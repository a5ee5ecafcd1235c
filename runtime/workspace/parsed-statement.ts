/**
 * What a run remembers of a statement it has parsed: enough to book its rows and to write its receipt. Kept with the step that parsed
 * it (`toMeta`), beside the rows the script got, because the file itself may be gone when the run resumes.
 */
import { currencyPlaces } from "../money.ts";
import type { Json, Refused, Row } from "../ports.ts";
import { fromExact, plus, toExact, ZERO } from "./amounts.ts";
import type { KeyedRow } from "./statements/identity.ts";
import type { Statement } from "./statements/types.ts";
import type { Stated } from "./view-balances.ts";
import type { BookedRow } from "./view-books.ts";

/** What a run needs to remember of one row. */
export interface ParsedRow extends BookedRow {
  reference: string;
  twin: boolean;
}

/** One account's part of a statement file. */
export interface Part {
  account: string;
  /** What is said about balances, by currency. */
  stated: Stated[];
  rows: ParsedRow[];
  /** Ids of the rows that were in the books already and were not handed to the script. */
  known: string[];
}

export interface Parsed {
  hash: string;
  dialect: string;
  parts: Part[];
  refused: Refused[];
  /** Rows that this run does not get any more. */
  later: number;
  /** Hash of the statement that this one begins with, or null. */
  earlier: string | null;
  /** Text of the dialect file that would probably read the file, or null. */
  guess: string | null;
}

/** What a statement says of one account; `open`: its rows the script gets; `closed`: the last day of the closed period, or "". */
export function partOf(account: string, statements: Statement[], open: KeyedRow[], closed: string): Pick<Part, "stated" | "rows"> {
  const stated = [...Map.groupBy(statements, (statement) => statement.currency)].map(([currency, group]): Stated => {
    const all = group.flatMap((statement) => (statement.newest_first ? statement.rows.toReversed() : statement.rows));
    const [first = null] = all
      .map((row) => row.date)
      .filter((day) => day > closed)
      .sort();
    const days = [...all.map((row) => row.date), ...group.flatMap(({ from, to }) => [from, to].filter((day) => day !== null))].sort();
    const [only, second] = group;
    // Several statements of one account and currency in a file: only a single one can be tied to the books.
    const { opening, closing } = only !== undefined && second === undefined ? only : { opening: null, closing: null };
    // What the account held when the closed period ended; not known while a row is refused, whose amount is not known.
    const before = all.filter((row) => row.date <= closed).reduce((sum, row) => plus(sum, toExact(row.amount)), ZERO);
    const isKnown = opening !== null && (all.every((row) => row.date > closed) || only?.refused.length === 0);
    return {
      account,
      currency,
      from: days[0] ?? null,
      to: days.at(-1) ?? null,
      first,
      morning: all.filter((row) => row.date === first).map((row) => row.amount),
      opening: isKnown ? fromExact(plus(toExact(opening), before), currencyPlaces(currency)) : null,
      closing,
    };
  });
  return { stated, rows: open.map(({ row, key, twin }) => toParsedRow(row, key, twin)) };
}

function toParsedRow({ id, date, currency, reference }: Row, key: string, twin: boolean): ParsedRow {
  return { id, key, date, currency, reference, twin };
}

type PartMeta = Omit<Part, "rows"> & { keys: string[]; twins: number[] };

/** What the rows of the step's result do not carry. */
export function toMeta(parsed: Parsed): Json {
  const parts = parsed.parts.map(
    ({ rows, ...rest }): PartMeta => ({
      ...rest,
      keys: rows.map((row) => row.key),
      twins: rows.flatMap((row, i) => (row.twin ? [i] : [])),
    }),
  );
  const { dialect, refused, later, earlier, guess } = parsed;
  return { dialect, refused, later, earlier, guess, parts } as unknown as Json;
}

export function fromMeta(hash: string, meta: Json, rows: Row[]): Parsed {
  // A step that an earlier version recorded says nothing of the last three.
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
    parts: parts.map(({ keys, twins, ...rest }) => {
      const own = rows.slice(at, (at += keys.length));
      const twin = new Set(twins);
      return { ...rest, rows: own.map((row, i) => toParsedRow(row, keys[i] ?? "", twin.has(i))) };
    }),
  };
}
