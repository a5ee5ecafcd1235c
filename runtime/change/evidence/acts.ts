/**
 * Differences between two sets of effects outside of the books, counted and summed: calls by tool with their amounts, notices by recipient,
 * questions, reviews, events; and written files by content, bank files payment by payment.
 */
import { count } from "../../kernel/text.ts";
import { plainDecimal } from "../../kernel/money.ts";
import type { Call, Json } from "../../kernel/ports.ts";
import { amountsIn } from "../../rules/tools/trace.ts";
import { ZERO, fromExact, plus, toExact } from "../../workspace/books/amounts.ts";
import { apart, clip, grouped, partWords, parting, partings, symbolic } from "./partings.ts";
import type { ActDifference, ActField, Effects, FileDifference } from "./types.ts";

interface Counted {
  kind: ActDifference["kind"];
  what: string;
  /** The words or parameters of one member, from which the difference is described. */
  of: Json;
  amount: string | null;
}

/** Groups that differ, each with counts and total amounts. */
export function actsOf(was: Effects, now: Effects): ActDifference[] {
  const [before, after] = [Map.groupBy(counted(was), keyOf), Map.groupBy(counted(now), keyOf)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key): ActDifference[] => {
    const [ones, others] = [before.get(key) ?? [], after.get(key) ?? []];
    const [gone, fresh] = apart(ones, others, textOf);
    if (gone.length + fresh.length === 0) return [];
    const { kind, what } = (others[0] ?? ones[0]) as Counted;
    const differ = Math.min(gone.length, fresh.length);
    const fields = gone.slice(0, differ).reduce<ActField[]>((all, one, i) => addFields(all, fieldsOf(one.of, fresh[i]?.of ?? null)), []);
    return [{ kind, what, was: sum(ones), now: sum(others), differ, fields }];
  });
}

/** Keys whose values name who is paid or notified. */
export const PAYEE =
  /^(?:to|cc|bcc|channel|recipients?|e?mail|payee|beneficiary|creditor|iban|bic|account_number|bank_account|sort_code|routing_number|wallet)$/i;
/** Order of severity: recipients, then amounts, then everything else. */
const GRAVE = [PAYEE, /^(?:amount|total|gross|net)$/i, /(?:)/];
const rank = ({ key }: Pick<ActField, "key">): number => GRAVE.findIndex((what) => what.test(key.split(".").at(-1) ?? ""));
const FIELDS = 20;

function fieldsOf(was: Json, now: Json): ActField[] {
  const isCalls = (key: string) => key.replace(/^calls\.\d+\.params\./, "");
  return [...partings(was, now)].map((one): ActField => {
    const told = { key: isCalls(one.key), count: 1, says: partWords(one) };
    return rank(told) === 0 ? { ...told, to: clip(one.now) } : told;
  });
}

function addFields(all: readonly ActField[], more: readonly ActField[]): ActField[] {
  // Each recipient makes a separate difference.
  const nameOf = ({ key, to = "" }: ActField) => `${key}\n${to}`;
  const found = new Map(all.map((one) => [nameOf(one), one]));
  for (const one of more) {
    const known = found.get(nameOf(one));
    found.set(nameOf(one), { ...(known ?? one), count: one.count + (known?.count ?? 0) });
  }
  return [...found.values()].sort((a, b) => rank(a) - rank(b)).slice(0, FIELDS);
}

const keyOf = ({ kind, what }: Pick<Counted, "kind" | "what">): string => `${kind}\n${what}`;

function counted({ calls, notices, gates, reviews, events }: Effects): Counted[] {
  const one = (kind: Counted["kind"], what: string, of: Json, amount: string | null = null): Counted => ({ kind, what, of, amount });
  return [
    ...calls.map(({ tool, params }) => one("call", tool, params, amountOf({ tool, params }))),
    ...notices.map(({ to, ...said }) => one("notice", to, said)),
    ...gates.map(({ title, calls: asked, terms }) => one("question", "", { title, calls: asked as unknown as Json, ...terms })),
    ...reviews.map(({ about, title }) => one("review", "", { about, title })),
    ...events.map(({ event, payload }) => one("event", event, payload)),
  ];
}

const textOf = ({ of }: Counted): string => symbolic(of);

/** The amount of a call: the parameter named `amount`, else its only amount. */
function amountOf({ params }: Call): string | null {
  const all = amountsIn(params);
  const found = all.find(({ path }) => /(?:^|\.)amount$/.test(path)) ?? (all.length === 1 ? all[0] : undefined);
  return found === undefined ? null : (plainDecimal(found.value)?.replace("-", "") ?? null);
}

function sum(all: readonly Counted[]): ActDifference["was"] {
  const amounts = all.flatMap(({ amount }) => amount ?? []);
  return { count: all.length, sum: amounts.length === 0 ? null : added(amounts) };
}

const added = (amounts: readonly string[]): string => fromExact(amounts.map(toExact).reduce(plus, ZERO), 2);

/** Adds the differences of one run to the sums over all runs. */
export function addActs(sums: readonly ActDifference[], more: readonly ActDifference[]): ActDifference[] {
  const all = new Map(sums.map((one) => [keyOf(one), one]));
  const both = (a: ActDifference["was"], b: ActDifference["was"]) => ({
    count: a.count + b.count,
    sum: a.sum === null || b.sum === null ? (a.sum ?? b.sum) : added([a.sum, b.sum]),
  });
  for (const one of more) {
    const old = all.get(keyOf(one));
    const fields = old === undefined ? one.fields : addFields(old.fields, one.fields);
    const [was, now] = old === undefined ? [one.was, one.now] : [both(old.was, one.was), both(old.now, one.now)];
    all.set(keyOf(one), { ...one, was, now, differ: one.differ + (old?.differ ?? 0), fields });
  }
  return [...all.values()];
}

/** Files that the two write differently, each described in words. */
export function filesOf(was: Effects["files"], now: Effects["files"]): FileDifference[] {
  return [...new Set([...Object.keys(was), ...Object.keys(now)])].flatMap((path) => {
    const [before, after] = [was[path], now[path]];
    if (before === after) return [];
    if (before == null || after == null)
      return [{ path, kind: "file" as const, says: [after == null ? "is no longer written" : "is written, which it was not"] }];
    const paid = payments(before, after);
    return [{ path, kind: paid === null ? ("file" as const) : ("bank file" as const), says: paid ?? [lines(before, after)] }];
  });
}

interface Payment {
  id: string;
  name: string;
  account: string;
  /** The bank that holds the account, or "". */
  bank: string;
  amount: string;
}

/** Differences between two bank files, payment by payment; null unless both are bank files. */
function payments(was: string, now: string): string[] | null {
  const [before, after] = [paymentsIn(was), paymentsIn(now)];
  if (before.length === 0 || after.length === 0) return null;
  const gone = [...before];
  const take = (is: (one: Payment) => boolean): Payment | null => gone.splice(gone.findIndex(is) >>> 0, 1)[0] ?? null;
  // An id may contain the day; then the payee identifies the payment.
  const all = after
    .map((one) => [take(({ id }) => id === one.id), one] as const)
    .map(([old, one]) => [old ?? take(({ name }) => name === one.name), one] as const);
  const pairs = all.flatMap(([old, one]) => (old === null ? [] : [[old, one] as const]));
  const fresh = all.flatMap(([old, one]) => (old === null ? [one] : []));
  const told = (what: string, field: "account" | "bank" | "amount" | "name") => {
    const other = pairs.filter(([a, b]) => a[field] !== b[field]);
    const [first] = other;
    const words = `${other.length} of ${count(after.length, "payment")} would ${what}`;
    return first === undefined
      ? []
      : [`${words} (${first[1].name}: ${first.map((one) => (field === "amount" ? grouped(one.amount) : one[field])).join(" to ")})`];
  };
  const [then, total] = [before, after].map((all) => added(all.map(({ amount }) => amount))) as [string, string];
  const found = [
    ...told("go to another account", "account"),
    ...told("be of another amount", "amount"),
    ...told("name another payee", "name"),
    ...told("go to an account at another bank", "bank"),
    ...unpaired("not there before", fresh),
    ...unpaired("no longer there", gone),
  ];
  if (then !== total) found.push(`${grouped(total)} in all instead of ${grouped(then)}`);
  return found.length > 0 ? found : [lines(was, now)];
}

function unpaired(what: string, all: readonly Payment[]): string[] {
  const [first] = all;
  return first === undefined ? [] : [`${count(all.length, "payment")} ${what} (${first.name}: ${first.amount} to ${first.account})`];
}

/** Payments of a pain.001 or a NACHA file (primitives/payroll.ts writes both). */
function paymentsIn(text: string): Payment[] {
  const blocks = [...text.matchAll(/<CdtTrfTxInf>(.*?)<\/CdtTrfTxInf>/gs)].map(([, block = ""]) => block);
  const tag = (block: string, name: RegExp) => name.exec(block)?.[1] ?? "";
  const pain = blocks.map((block) => ({
    id: tag(block, /<EndToEndId>(.*?)</),
    name: tag(block, /<Cdtr><Nm>(.*?)</),
    account: tag(block, /<IBAN>(.*?)</),
    bank: tag(block, /<BIC(?:FI)?>(.*?)</),
    amount: tag(block, /<InstdAmt[^>]*>(.*?)</),
  }));
  // NACHA entry detail: routing 4-12, account 13-29, cents 30-39, id 40-54, name 55-76.
  const nacha = text.split("\n").flatMap((line) => {
    if (!/^6\d{11}.{82}$/.test(line)) return [];
    return [
      {
        id: line.slice(39, 54).trim(),
        name: line.slice(54, 76).trim(),
        account: line.slice(12, 29).trim(),
        bank: line.slice(3, 12),
        amount: fromExact(toExact(`${line.slice(29, 37)}.${line.slice(37, 39)}`), 2),
      },
    ];
  });
  return [...pain, ...nacha].filter(({ amount }) => plainDecimal(amount) !== null);
}

/** How many lines differ, and the first pair, from where the two diverge. */
function lines(was: string, now: string): string {
  const [before, after] = [was, now].map((text) => text.split("\n")) as [string[], string[]];
  const count = Math.max(before.length, after.length);
  const differing = Array.from({ length: count }, (_, i) => i).filter((i) => before[i] !== after[i]);
  const [first = 0] = differing;
  return `${differing.length} of ${count} lines differ: ${parting(before[first] ?? "", after[first] ?? "")}`;
}
