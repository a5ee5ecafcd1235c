/** A bank of random payments, and what it exports of them: in several formats, cut anywhere, with pending and missing rows. */
import { money } from "./books-bench.ts";

/** A payment as the bank has it. `pending`: the day it was announced, before it was booked. */
export interface Payment {
  n: number;
  day: number;
  cents: number;
  payee: string;
  pending: number | null;
}

type Format = "balance" | "plain" | "words" | "ofx" | "ofx-balance" | "ofx-renumbered";

/** Payments [from, to) as a statement that was loaded on a day. */
export interface Statement {
  format: Format;
  from: number;
  to: number;
  /** Payment that it lacks, or null. */
  lacks: number | null;
  /** Announced rows are listed, too. */
  pending: boolean;
}

export function random(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const START = Date.UTC(2026, 9, 20);
export const OPENING = 500_000;
export const dayOf = (day: number): string => new Date(START + day * 86_400_000).toISOString().slice(0, 10);

/** Payments in the bank's order; two equal ones on one day are common. */
export function payments(next: (below: number) => number): Payment[] {
  const made: Payment[] = [];
  let day = 0;
  while (made.length < 24) {
    day += next(3);
    const twins = next(5) === 0 ? 2 : 1;
    const payee = ["BLUE BOTTLE", "GITHUB", "AMZN MKTP", "RENT", "CLIENT"][next(5)] ?? "";
    const cents = payee === "BLUE BOTTLE" ? -450 : payee === "CLIENT" ? 100_000 + next(9) * 1000 : -(1000 + next(400) * 7);
    const pending = payee === "AMZN MKTP" && day > 3 ? day - 1 - next(3) : null;
    for (let i = 0; i < twins; i++) made.push({ n: made.length, day, cents, payee, pending: twins === 1 ? pending : null });
  }
  return made;
}

interface Row {
  day: string;
  cents: number;
  text: string;
  id: string;
}

/** The rows that a statement lists, in the bank's order. */
function rowsOf(all: readonly Payment[], { from, to, lacks, pending, format }: Statement, serial: number): Row[] {
  const until = all[to - 1]?.day ?? 0;
  const booked = all.slice(from, to).filter(({ n }) => n !== lacks);
  const announced = pending
    ? all.slice(to).filter((one) => one.pending !== null && one.pending <= until && one.pending >= (all[from]?.day ?? 0))
    : [];
  const rows = [
    ...booked.map((one) => ({ at: one.day, one, text: one.payee, id: `FIT-${100_000 + one.n}` })),
    ...announced.map((one) => ({ at: one.pending ?? 0, one, text: `${one.payee} PENDING`, id: `PEN-${100_000 + one.n}` })),
  ].sort((a, b) => a.at - b.at);
  return rows.map(({ at, one, text, id }, i) => ({
    day: dayOf(at),
    cents: one.cents,
    text: format === "words" ? `CHECKCARD 0042 ${text} PORTLAND OR` : text,
    id: format === "ofx-renumbered" ? `R${serial}-${7_000_000 + i}` : id,
  }));
}

export function textOf(all: readonly Payment[], statement: Statement, serial: number): string {
  const rows = rowsOf(all, statement, serial);
  let balance = OPENING + all.slice(0, statement.from).reduce((sum, { cents }) => sum + cents, 0);
  if (!statement.format.startsWith("ofx")) {
    const withBalance = statement.format === "balance";
    const lines = rows.map(({ day, cents, text }) => {
      balance += cents;
      return `${day},${text},${money(cents)}${withBalance ? `,${money(balance)}` : ""}`;
    });
    return `Date,Description,Amount${withBalance ? ",Balance" : ""}\n${lines.join("\n")}\n`;
  }
  const end = OPENING + all.slice(0, statement.to).reduce((sum, { cents }) => sum + cents, 0);
  const last = dayOf(all[statement.to - 1]?.day ?? 0).replaceAll("-", "");
  const stated = statement.format === "ofx-balance" ? `<LEDGERBAL><BALAMT>${money(end)}<DTASOF>${last}</LEDGERBAL>` : "";
  const list = rows
    .map(
      ({ day, cents, text, id }) =>
        `<STMTTRN><DTPOSTED>${day.replaceAll("-", "")}<TRNAMT>${money(cents)}<FITID>${id}<NAME>${text}</STMTTRN>`,
    )
    .join("");
  return `OFXHEADER:100\n\n<OFX><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>1</BANKACCTFROM><BANKTRANLIST>${list}</BANKTRANLIST>${stated}</STMTRS></OFX>`;
}

export function plan(all: readonly Payment[], next: (below: number) => number): Statement | null {
  const format = (["balance", "plain", "words", "ofx", "ofx-balance", "ofx-renumbered"] as const)[next(6)] ?? "plain";
  let [from, to] = [next(all.length), 0];
  to = Math.min(all.length, from + 4 + next(14));
  // Without balances and ids nothing tells a part of a day from the whole: such an export is of whole days.
  const isCut = (at: number): boolean => at > 0 && at < all.length && all[at]?.day === all[at - 1]?.day;
  if (format !== "balance" && format !== "ofx-balance") {
    while (isCut(from)) from--;
    while (isCut(to)) to++;
  }
  if (to - from < 2) return null;
  const lacks = format !== "balance" && next(6) === 0 ? from + next(to - from) : null;
  return { format, from, to, lacks, pending: (format === "plain" || format === "ofx" || format === "words") && next(2) === 0 };
}
