/**
 * Types only: what a bank statement says once it is read, whatever its format. Amounts are plain decimal text with the
 * currency's number of places, negative = money out. Every row of the file is in `rows`, in `refused`, or counted in `skipped`.
 */
import type { Refused } from "../../kernel/ports.ts";

export interface ParsedRow {
  /** Line of the file on which the row begins, from 1. */
  line: number;
  /** YYYY-MM-DD */
  date: string;
  amount: string;
  currency: string;
  /** The bank's text with white space collapsed. */
  description: string;
  /** The bank's text as it is, without control characters. Part of the row's identity. */
  raw_description: string;
  /** The bank's word for the kind of row, or "". */
  type: string;
  /** The bank's own id of the row (FITID, reference number), or null. */
  bank_id: string | null;
  counterparty?: string;
  /** Running balance after this row. */
  balance?: string;
}

export interface Statement {
  /** Name of the dialect that read it; `ofx` for OFX and QFX. */
  dialect: string;
  /** The bank account's id as the bank writes it, or null. */
  account: string | null;
  /** It is of a credit card: what it states is owed, and no account at a bank. */
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
  /** Balance at the end of a day; null when the statement does not say, or when what it says does not tie. */
  closing: { date: string; amount: string } | null;
  /** First and last day covered: as stated, else of the rows. */
  from: string | null;
  to: string | null;
}
