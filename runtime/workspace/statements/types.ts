/**
 * Types only: what a bank statement says once it is read, whatever its format. Amounts are plain decimal text with the
 * currency's number of places, negative = money out. Every row of the file is in `rows`, in `refused`, or counted in `skipped`.
 */
import type { Refused, Row } from "../../kernel/ports.ts";

export interface ParsedRow extends Omit<Row, "id" | "reference" | "account"> {
  /** Line of the file on which the row begins, from 1. */
  line: number;
  /** The bank's own id of the row (FITID, reference number), or null. */
  bank_id: string | null;
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
