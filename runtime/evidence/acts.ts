/**
 * What two sets of effects do differently outside of the books, counted and summed: calls by tool with their amounts, notices by whom they
 * reach, questions, reviews, events; and files by what stands in them, payments of a bank file one by one.
 */
import { canonicalJson } from "../engine/canonical.ts";
import { plainDecimal } from "../money.ts";
import type { Call, Json } from "../ports.ts";
import { amountsIn } from "../tools/trace.ts";
import { type Exact, ZERO, fromExact, plus, toExact } from "../workspace/amounts.ts";
import type { ActDifference, Effects, FileDifference } from "./types.ts";

interface Counted {
  kind: ActDifference["kind"];
  what: string;
  text: string;
  /** What differs is told by it: the words or parameters of one. */
  of: Json;
  amount: string | null;
}

/** Groups in which the two differ, each with how many there are and what they come to. */
export function actsOf(was: Effects, now: Effects): ActDifference[] {
  const [before, after] = [Map.groupBy(counted(was), keyOf), Map.groupBy(counted(now), keyOf)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key): ActDifference[] => {
    const [ones, others] = [before.get(key) ?? [], after.get(key) ?? []];
    const left = others.map(({ text }) => text);
    const gone = ones.filter(({ text }) => !taken(left, text));
    if (gone.length + left.length === 0) return [];
    const fresh = others.find(({ text }) => text === left[0]);
    const { kind, what } = (others[0] ?? ones[0]) as Counted;
    const pair = gone[0] !== undefined && fresh !== undefined ? { was: gone[0].of, now: fresh.of } : null;
    return [{ kind, what, was: sum(ones), now: sum(others), differ: Math.min(gone.length, left.length), example: pair }];
  });
}

const keyOf = ({ kind, what }: Counted): string => `${kind}\n${what}`;

function counted({ calls, notices, gates, reviews, events }: Effects): Counted[] {
  const one = (kind: Counted["kind"], what: string, of: Json, amount: string | null = null): Counted => ({
    kind,
    what,
    of,
    amount,
    text: symbolic(of),
  });
  return [
    ...calls.map(({ tool, params }) => one("call", tool, params, amountOf({ tool, params }))),
    ...notices.map(({ to, ...said }) => one("notice", to, said)),
    ...gates.map(({ title, calls: asked }) => one("question", "", { title, calls: asked as unknown as Json })),
    ...reviews.map(({ about, title }) => one("review", "", { about, title })),
    ...events.map(({ event, payload }) => one("event", event, payload)),
  ];
}

/** Ids of commits and runs mean nothing. */
const symbolic = (value: Json): string => canonicalJson(value).replaceAll(/\b[0-9a-f]{40}\b|\brun_[0-9A-Z]{14}\b/g, "");

/** The amount a call is about: the one called so, else the only one it has. */
function amountOf({ params }: Call): string | null {
  const all = amountsIn(params);
  const found = all.find(({ path }) => /(?:^|\.)amount$/.test(path)) ?? (all.length === 1 ? all[0] : undefined);
  return found === undefined ? null : (plainDecimal(found.value)?.replace("-", "") ?? null);
}

function sum(all: readonly Counted[]): ActDifference["was"] {
  const amounts = all.flatMap(({ amount }) => amount ?? []);
  return { count: all.length, sum: amounts.length === 0 ? null : added(amounts) };
}

const added = (amounts: readonly string[]): string =>
  fromExact(
    amounts.reduce<Exact>((total, one) => plus(total, toExact(one)), ZERO),
    2,
  );

function taken<T>(list: T[], one: T): boolean {
  const at = list.indexOf(one);
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}

/** Adds what one run does differently to the sums of all. */
export function addActs(sums: readonly ActDifference[], more: readonly ActDifference[]): ActDifference[] {
  const all = new Map(sums.map((one) => [`${one.kind}\n${one.what}`, one]));
  const both = (a: ActDifference["was"], b: ActDifference["was"]) => ({
    count: a.count + b.count,
    sum: a.sum === null || b.sum === null ? (a.sum ?? b.sum) : added([a.sum, b.sum]),
  });
  for (const one of more) {
    const key = `${one.kind}\n${one.what}`;
    const old = all.get(key);
    all.set(
      key,
      old === undefined ? one : { ...old, was: both(old.was, one.was), now: both(old.now, one.now), differ: old.differ + one.differ },
    );
  }
  return [...all.values()];
}

/** Files that the two write differently, each in words. */
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
  amount: string;
}

/** What differs between two bank files, payment by payment; null where one is none. */
function payments(was: string, now: string): string[] | null {
  const [before, after] = [paymentsIn(was), paymentsIn(now)];
  if (before.length === 0 || after.length === 0) return null;
  const old = new Map(before.map((one) => [one.id, one]));
  const pairs = after.flatMap((one) => (old.has(one.id) ? [[old.get(one.id) as Payment, one] as const] : []));
  const told = (what: string, field: "account" | "amount" | "name") => {
    const other = pairs.filter(([a, b]) => a[field] !== b[field]);
    const [first] = other;
    const words = `${other.length} of ${after.length} ${after.length === 1 ? "payment" : "payments"} would ${what}`;
    return first === undefined ? [] : [`${words} (${first[1].name}: ${first[0][field]} to ${first[1][field]})`];
  };
  const [then, total] = [before, after].map((all) => added(all.map(({ amount }) => amount))) as [string, string];
  const found = [
    ...told("go to another account", "account"),
    ...told("be of another amount", "amount"),
    ...told("name somebody else", "name"),
  ];
  if (after.length !== before.length) found.push(`${after.length} payments instead of ${before.length}`);
  if (then !== total) found.push(`${total} in all instead of ${then}`);
  return found.length > 0 ? found : [lines(was, now)];
}

/** Payments of a pain.001 or a NACHA file (primitives/payroll.ts writes both). */
function paymentsIn(text: string): Payment[] {
  const blocks = [...text.matchAll(/<CdtTrfTxInf>(.*?)<\/CdtTrfTxInf>/gs)].map(([, block = ""]) => block);
  const tag = (block: string, name: RegExp) => name.exec(block)?.[1] ?? "";
  const pain = blocks.map((block) => ({
    id: tag(block, /<EndToEndId>(.*?)</),
    name: tag(block, /<Cdtr><Nm>(.*?)</),
    account: tag(block, /<IBAN>(.*?)</),
    amount: tag(block, /<InstdAmt[^>]*>(.*?)</),
  }));
  // NACHA entry detail: routing 4-12, account 13-29, cents 30-39, id 40-54, name 55-76.
  const nacha = text.split("\n").flatMap((line) => {
    if (!/^6\d{11}.{82}$/.test(line)) return [];
    const cents = BigInt(line.slice(29, 39));
    return [
      {
        id: line.slice(39, 54).trim(),
        name: line.slice(54, 76).trim(),
        account: line.slice(12, 29).trim(),
        amount: fromExact({ units: cents, scale: 2 }, 2),
      },
    ];
  });
  return [...pain, ...nacha].filter(({ amount }) => plainDecimal(amount) !== null);
}

/** How many lines differ, and the first of them from where it parts. */
function lines(was: string, now: string): string {
  const [before, after] = [was, now].map((text) => text.split("\n")) as [string[], string[]];
  const count = Math.max(before.length, after.length);
  const differing = Array.from({ length: count }, (_, i) => i).filter((i) => before[i] !== after[i]);
  const [first = 0] = differing;
  return `${differing.length} of ${count} lines differ: ${parting(before[first] ?? "", after[first] ?? "")}`;
}

/** Two texts from shortly before where they part: never clipped to the same. */
export function parting(was: string, now: string): string {
  let at = 0;
  while (at < was.length && was[at] === now[at]) at++;
  const from = Math.max(0, at - 20);
  const cut = (text: string) => `${from > 0 ? "…" : ""}${text.slice(from, from + 80)}${text.length > from + 80 ? "…" : ""}`;
  return `${JSON.stringify(cut(was))} -> ${JSON.stringify(cut(now))}`;
}
