/** Effects in plain words, a line each: what somebody reads who decides whether it may happen. */
import type { Json } from "../../kernel/ports.ts";
import { type Exact, ZERO, fromExact, plus, toExact } from "../../workspace/books/amounts.ts";
import type { EntryEffect, Effects } from "./types.ts";

const MOST = 5;

/** "books 12 entries, 340.00 USD to Expenses:Software", "asks: Pay 84.00 to X?", "calls erp/pay_invoice {...} after a yes". */
export function effectLines(effects: Effects): string[] {
  const { entries, changed, calls, notices, gates, reviews, events, files, error, result, outcome } = effects;
  return [
    ...bookLines(entries),
    ...some(Object.entries(changed), ([id, status]) => `entry ${id} becomes ${status}`),
    ...some(reviews, ({ title }) => `asks for a review: ${title}`),
    ...some(gates, ({ title }) => `asks: ${title}`),
    ...some(calls, ({ tool, params, approved }) => `calls ${tool} ${clip(params)}${approved ? " after a yes" : ""}`),
    ...some(notices, ({ to, subject }) => `tells ${to}: ${subject}`),
    ...some(events, ({ event }) => `emits ${event}`),
    ...some(Object.entries(files), ([path, text]) => `${text === null ? "removes" : "writes"} ${path}`),
    ...(error === null ? [] : [`ends with ${error.code}: ${error.message.slice(0, 300)}`]),
    ...(outcome === null ? [] : [`${outcome === "completed" ? "answers" : `is ${outcome}:`} ${clip(result)}`]),
  ];
}

/** Where the money goes: debits by account, the largest first. */
function bookLines(entries: readonly EntryEffect[]): string[] {
  if (entries.length === 0) return [];
  const sums = new Map<string, { sum: Exact; currency: string; account: string }>();
  for (const { account, amount, currency } of entries.flatMap(({ legs }) => legs)) {
    if (amount.startsWith("-")) continue;
    const key = `${currency} ${account}`;
    sums.set(key, { account, currency, sum: plus(sums.get(key)?.sum ?? ZERO, toExact(amount)) });
  }
  const largest = [...sums.values()]
    .map((one) => ({ ...one, text: fromExact(one.sum, 2) }))
    .sort((a, b) => Number(b.text) - Number(a.text));
  const to = largest.slice(0, MOST).map(({ account, currency, text }) => `${text} ${currency} to ${account}`);
  const more = largest.length > MOST ? [`${largest.length - MOST} more accounts`] : [];
  const open = entries.filter(({ status }) => status === "pending-review").length;
  const waits = open === 0 ? "" : `; ${open === entries.length ? "all wait" : `${open} of them wait${open === 1 ? "s" : ""}`} for a review`;
  return [`books ${entries.length} ${entries.length === 1 ? "entry" : "entries"}, ${[...to, ...more].join(", ")}${waits}`];
}

function some<T>(all: readonly T[], line: (one: T) => string): string[] {
  return [...all.slice(0, MOST).map(line), ...(all.length > MOST ? [`and ${all.length - MOST} more like it`] : [])];
}

function clip(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
