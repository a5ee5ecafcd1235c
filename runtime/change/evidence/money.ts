/** Sums over entries: by account and month, and which accounts amounts move between. Exact, in decimal text. */
import { type Exact, ZERO, fromExact, minus, plus, toExact } from "../../workspace/books/amounts.ts";
import type { BacktestReport, EntryEffect, MoneyDifference, RunDifference } from "./types.ts";

type Pair = RunDifference["entries"][number];
type Move = BacktestReport["moves"][number];

/** What accounts hold less or more, by month and currency; those that come out equal are left out. */
export function moneyOf(pairs: readonly Pair[]): MoneyDifference[] {
  const cells = new Map<string, { was: Exact; now: Exact }>();
  const count = (entry: EntryEffect | null, side: "was" | "now") => {
    for (const { account, amount, currency } of entry?.legs ?? []) {
      const key = [account, entry?.date.slice(0, 7) ?? "", currency].join("\n");
      const cell = cells.get(key) ?? { was: ZERO, now: ZERO };
      cells.set(key, { ...cell, [side]: plus(cell[side], toExact(amount)) });
    }
  };
  for (const { was, now } of pairs) {
    count(was, "was");
    count(now, "now");
  }
  return [...cells].flatMap(([key, { was, now }]) => {
    const [account = "", month = "", currency = ""] = key.split("\n");
    const difference = minus(now, was);
    if (difference.units === 0n) return [];
    return [{ account, month, currency, was: fromExact(was, 2), now: fromExact(now, 2), difference: fromExact(difference, 2) }];
  });
}

/** Adds what one run does to the sums of all. */
export function addMoney(sums: readonly MoneyDifference[], more: readonly MoneyDifference[]): MoneyDifference[] {
  const cells = new Map(sums.map((one) => [keyOf(one), one]));
  for (const one of more) {
    const sum = cells.get(keyOf(one));
    const added = (name: "was" | "now" | "difference") => fromExact(plus(toExact(sum?.[name] ?? "0"), toExact(one[name])), 2);
    cells.set(keyOf(one), { ...one, was: added("was"), now: added("now"), difference: added("difference") });
  }
  return [...cells.values()];
}

const keyOf = ({ account, month, currency }: MoneyDifference): string => [account, month, currency].join("\n");

/** How much more the entries come to by currency; nothing where only their accounts change. */
export function netOf(pairs: readonly Pair[]): Map<string, Exact> {
  const net = new Map<string, Exact>();
  for (const { was, now } of pairs) {
    for (const [currency, size] of sizes(now)) net.set(currency, plus(net.get(currency) ?? ZERO, size));
    for (const [currency, size] of sizes(was)) net.set(currency, minus(net.get(currency) ?? ZERO, size));
  }
  return net;
}

/** The sum of an entry's debits by currency. */
function sizes(entry: EntryEffect | null): Map<string, Exact> {
  const sums = new Map<string, Exact>();
  for (const { amount, currency } of entry?.legs ?? []) {
    const value = amount.startsWith("-") ? ZERO : toExact(amount);
    sums.set(currency, plus(sums.get(currency) ?? ZERO, value));
  }
  return sums;
}

/** From which account to which an entry goes, debits and credits each among themselves; "" stands for a new or a gone entry's other side. */
export function movesOf({ was, now }: Pair): Move[] {
  return [1, -1].flatMap((side) => {
    const changes = new Map<string, Exact>();
    const count = (entry: EntryEffect | null, sign: bigint) => {
      for (const { account, amount, currency } of entry?.legs ?? []) {
        const value = toExact(amount);
        if (value.units === 0n || value.units > 0n !== side > 0) continue;
        const key = [currency, account].join("\n");
        const size = { units: value.units * BigInt(side) * sign, scale: value.scale };
        changes.set(key, plus(changes.get(key) ?? ZERO, size));
      }
    };
    count(was, -1n);
    count(now, 1n);
    return paired([...changes]);
  });
}

/** Takes from what became less and gives to what became more, in order. */
function paired(changes: [key: string, change: Exact][]): Move[] {
  const moves: Move[] = [];
  const open = changes
    .filter(([, change]) => change.units < 0n)
    .map(([key, change]) => ({ key, left: { ...change, units: -change.units } }));
  const move = (currency: string, from: string, to: string, amount: Exact) =>
    moves.push({ from, to, entries: 1, amount: fromExact(amount, 2), currency });
  for (const [key, change] of changes) {
    const [currency = "", to = ""] = key.split("\n");
    let wanted = change;
    for (const one of open) {
      if (wanted.units <= 0n) break;
      if (one.left.units === 0n || !one.key.startsWith(`${currency}\n`)) continue;
      const amount = minus(one.left, wanted).units < 0n ? one.left : wanted;
      move(currency, one.key.slice(currency.length + 1), to, amount);
      one.left = minus(one.left, amount);
      wanted = minus(wanted, amount);
    }
    if (wanted.units > 0n) move(currency, "", to, wanted);
  }
  for (const { key, left } of open) {
    const [currency = "", from = ""] = key.split("\n");
    if (left.units > 0n) move(currency, from, "", left);
  }
  return moves;
}
