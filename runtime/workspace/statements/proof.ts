/**
 * A bank statement that was read, whatever its format. Amounts are plain decimal text with the currency's number of places,
 * negative = money out. Every row of the file is in `rows`, in `refused`, or counted in `skipped`.
 *
 * Its proof: the running balance, or opening + rows = closing, must tie to the cent. Only balances that tie are passed on;
 * others become a warning with the line where they break. Sums are exact (BigInt).
 */
import type { Refused, Row } from "../../kernel/ports.ts";
import { currencyPlaces } from "../../kernel/money.ts";
import { fromExact, toExact } from "../books/amounts.ts";
import { type AmountReader, cleanText, collapse, excerpt, isCurrency, readDay } from "./cells.ts";

export interface Statement {
  /** Name of the dialect that read it; `ofx` for OFX and QFX. */
  dialect: string;
  /** The bank account's id as the bank writes it, or null. */
  account: string | null;
  /** The bank's number and the kind of the account, which with its id name one account; null where the file has none. */
  bank: string | null;
  /** True for a credit card: its balance is owed, and it is not a bank account. */
  card: boolean;
  /** Currency of the account; a row may have another one. */
  currency: string;
  /** In the order of the file. */
  rows: ParsedRow[];
  /** True when the file lists the newest row first. */
  newest_first: boolean;
  refused: Refused[];
  /** Findings about the whole: a balance that does not tie, a closing balance that cannot be used. */
  warnings: Refused[];
  /** Rows the dialect says to leave out (pending twins, totals). */
  skipped: number;
  /** Balance before the first row; null unless it ties with the rows and the closing balance. */
  opening: string | null;
  /** Balance at the end of a day; null when the statement has none, or when it does not tie. */
  closing: { date: string; amount: string } | null;
  /** First and last day covered: as stated, else of the rows. */
  from: string | null;
  to: string | null;
}

export interface ParsedRow extends Omit<Row, "id" | "reference" | "account"> {
  /** Line of the file on which the row begins, from 1. */
  line: number;
  /** The bank's own id of the row (FITID, reference number), or null. */
  bank_id: string | null;
}

/** Why a row is refused. `shape` marks a date in another form, which is a fault of the dialect when every row has it. */
export interface Refusal {
  reason: string;
  shape?: boolean;
}

/** A row of any format, in the bank's words; the amount as it was read in that currency. */
interface RowText extends Record<"date" | "currency" | "text" | "type" | "id" | "counterparty", string> {
  line: number;
  amount: ReturnType<AmountReader>;
}

/** `form`: how days are written. */
export function toRow({ line, date, currency, amount, ...words }: RowText, form: { pattern: RegExp; words: string }): ParsedRow | Refusal {
  const read = readDay(date, form.pattern);
  if ("fault" in read) {
    const shape = read.fault === "shape";
    return { reason: `"${excerpt(date)}" is not ${shape ? form.words : "a calendar day from 1970 to 2069"}.`, shape };
  }
  if (!isCurrency(currency)) return { reason: `"${excerpt(currency)}" is not a currency: three capitals such as USD.` };
  if ("reason" in amount) return amount;
  if (/^-?[0.]+$/.test(amount.amount)) return { reason: "The amount is zero: nothing moves, so there is nothing to book." };
  const row: ParsedRow = {
    ...{ line, date: read.day, amount: amount.amount, currency },
    ...{ description: collapse(words.text), raw_description: words.text },
    type: collapse(cleanText(words.type)),
    bank_id: collapse(cleanText(words.id)) || null,
  };
  const counterparty = collapse(cleanText(words.counterparty));
  return counterparty === "" ? row : { ...row, counterparty };
}

/** Balances and range as the file states them. */
export type StatedBalances = Pick<Statement, "opening" | "closing" | "from" | "to">;

export const NOTHING_STATED: StatedBalances = { opening: null, closing: null, from: null, to: null };

const amountOf = (value: bigint, currency: string): string => fromExact(value, currencyPlaces(currency));

type Draft = Omit<Statement, keyof StatedBalances | "newest_first" | "warnings">;
type Finding = { line: number; balance: bigint; expected: bigint };

/** Adds to a statement its proven balances, the range it covers and the order of its rows. */
export function prove(draft: Draft, stated: StatedBalances): Statement {
  const { rows } = draft;
  const dates = rows.map((row) => row.date).toSorted();
  const first = dates[0] ?? null;
  const last = dates.at(-1) ?? null;
  const warnings: Refused[] = [];
  const withBalance = rows.some((row) => row.balance !== undefined);
  const oneCurrency = rows.every((row) => row.currency === draft.currency);
  let newestFirst = rows.length > 1 && (rows[0]?.date ?? "") > (rows.at(-1)?.date ?? "");
  let opening: string | null = null;
  let closing: Statement["closing"] = null;
  if (withBalance && oneCurrency) {
    const chain = runningBalance(rows, draft.refused, newestFirst);
    newestFirst = chain.newestFirst;
    if (chain.breaks.length === 0) {
      opening = chain.opening === null ? null : amountOf(chain.opening, draft.currency);
      closing = chain.closing === null || last === null ? null : { date: last, amount: amountOf(chain.closing, draft.currency) };
      if (differs(stated.opening, opening) || differs(stated.closing?.amount ?? null, closing?.amount ?? null)) {
        const message = `The file states ${stated.opening ?? "no opening"} and ${stated.closing?.amount ?? "no closing"} balance, but its running balance goes from ${opening ?? "?"} to ${closing?.amount ?? "?"}. Compare it with the bank's page.`;
        warnings.push({ line: 1, code: "STATEMENT_BALANCE", message });
        [opening, closing] = [null, null];
      }
    } else warnings.push(...chain.breaks.slice(0, 3).map((found) => broken(found, draft.currency)));
  } else if (stated.closing !== null && oneCurrency) {
    ({ opening, closing } = statedBalance(draft, { ...stated, closing: stated.closing }, last, warnings));
  }
  return { ...draft, newest_first: newestFirst, warnings, opening, closing, from: stated.from ?? first, to: stated.to ?? last };
}

const differs = (stated: string | null, proven: string | null): boolean => stated !== null && proven !== null && stated !== proven;

/** Walks the balances in the order of the dates and, when that does not tie, in the other one. */
function runningBalance(rows: ParsedRow[], refused: Refused[], newestFirst: boolean) {
  const likely = walk(rows, refused, newestFirst);
  if (likely.breaks.length === 0) return likely;
  const other = walk(rows, refused, !newestFirst);
  return other.breaks.length < likely.breaks.length ? other : likely;
}

function walk(rows: ParsedRow[], refused: Refused[], newestFirst: boolean) {
  const ordered = newestFirst ? rows.toReversed() : rows;
  const gaps = refused.map((row) => row.line).toSorted((a, b) => a - b);
  if (newestFirst) gaps.reverse();
  const passed = (gap: number | undefined, line: number) => gap !== undefined && (newestFirst ? gap > line : gap < line);
  const breaks: Finding[] = [];
  let opening: bigint | null = null;
  let running: bigint | null = null;
  let before = 0n;
  let gap = 0;
  let whole = true;
  for (const row of ordered) {
    // The amount of a refused row is unknown, so the chain starts again after it.
    while (passed(gaps[gap], row.line)) {
      gap++;
      running = null;
      if (opening === null) whole = false;
    }
    const amount = toExact(row.amount);
    const balance: bigint | null = row.balance === undefined ? null : toExact(row.balance);
    if (running !== null) running += amount;
    if (balance !== null) {
      if (running !== null && running !== balance) breaks.push({ line: row.line, balance, expected: running });
      if (opening === null && whole) opening = balance - amount - before;
      running = balance;
    }
    before += amount;
  }
  return { newestFirst, breaks, opening, closing: gap < gaps.length ? null : running };
}

function broken({ line, balance, expected }: Finding, currency: string): Refused {
  const message = `The running balance breaks here: the file says ${amountOf(balance, currency)}, the rows before give ${amountOf(expected, currency)}. A row is missing, doubled or read with the wrong sign; compare it with the bank's page.`;
  return { line, code: "STATEMENT_BALANCE", message };
}

/** A closing balance the file states, tied by the stated opening or, when it is of the last day covered, giving the opening. */
function statedBalance(
  draft: Draft,
  stated: StatedBalances & { closing: { date: string; amount: string } },
  last: string | null,
  warnings: Refused[],
) {
  const { closing } = stated;
  const sum = draft.rows.reduce((total, row) => total + toExact(row.amount), 0n);
  const warn = (message: string) => warnings.push({ line: 1, code: "STATEMENT_BALANCE", message });
  if (last !== null && last > closing.date) {
    warn(`The balance ${closing.amount} is of ${closing.date}, but there are rows up to ${last}: it cannot be checked.`);
    return { opening: null, closing: null };
  }
  if (draft.refused.length > 0) return { opening: stated.opening, closing };
  const opening = toExact(closing.amount) - sum;
  if (stated.opening !== null) {
    if (toExact(stated.opening) === opening) return { opening: stated.opening, closing };
    warn(
      `${stated.opening} at the start and rows of ${amountOf(sum, draft.currency)} do not give the closing balance ${closing.amount}. A row is missing, doubled or read with the wrong sign.`,
    );
    return { opening: null, closing: null };
  }
  if (stated.to !== null && closing.date > stated.to) {
    // Rows between the end of the list and the day of the balance are not in the file, so the opening is not known.
    warn(
      `The balance ${closing.amount} is of ${closing.date}, but the rows are listed only through ${stated.to}: the opening balance is not known.`,
    );
    return { opening: null, closing };
  }
  return { opening: amountOf(opening, draft.currency), closing };
}
