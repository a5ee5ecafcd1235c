/**
 * Compares two values field by field and describes the differences so that two long texts are never clipped to the same words. Names of
 * commits and runs are symbols: a difference between them has no meaning.
 */
import { canonicalJson } from "../../kernel/canonical.ts";
import { clip as clipText, shortJson } from "../../kernel/text.ts";
import type { EntryStatus } from "../../kernel/ports.ts";
import type { EntryEffect, RunDifference } from "./types.ts";

// Of longer texts only the differing part is shown.
const LONG = 120;

/** Equal text for equal meaning: keys sorted, ids of commits and runs replaced. */
export function symbolic(value: unknown): string {
  return canonicalJson(value ?? null)
    .replaceAll(/\b[0-9a-f]{40}\b/g, "COMMIT")
    .replaceAll(/\brun_[0-9A-Z]{14}\b/g, "RUN");
}

/** Members of each list without a partner in the other, equal ones paired one to one. */
export function apart<T>(was: readonly T[], now: readonly T[], keyOf: (one: T) => string, keyOfNow = keyOf): [T[], T[]] {
  const [old, fresh] = [was.map((one) => keyOf(one)), now.map((one) => keyOfNow(one))];
  const rest = (all: readonly T[], keys: readonly string[], others: readonly string[]): T[] => {
    const left = Map.groupBy(others, (key) => key);
    return all.filter((_, i) => left.get(keys[i] ?? "")?.pop() === undefined);
  };
  return [rest(was, old, fresh), rest(now, fresh, old)];
}

/** `amount "10.00" -> "100.00"`: the first field in which two values differ. */
export function firstDifference(was: unknown, now: unknown): string {
  const [first = { key: "", was, now }] = partings(was, now);
  return `${first.key === "" ? "" : `${first.key} `}${partWords(first)}`;
}

/** `"10.00" -> "100.00"` */
export function partWords({ was, now }: Pick<Parting, "was" | "now">): string {
  const isLong = typeof was === "string" && typeof now === "string" && Math.max(was.length, now.length) > LONG;
  return isLong ? parting(was, now) : `${clip(was)} -> ${clip(now)}`;
}

export interface Parting {
  key: string;
  was: unknown;
  now: unknown;
}

/** The fields in which two values differ, in order. */
export function* partings(was: unknown, now: unknown, key = ""): Generator<Parting> {
  const isFolder = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
  if (symbolic(was) === symbolic(now)) return;
  if (isFolder(was) && isFolder(now) && Array.isArray(was) === Array.isArray(now))
    for (const name of new Set([...Object.keys(was), ...Object.keys(now)]))
      yield* partings(was[name], now[name], key === "" ? name : `${key}.${name}`);
  else yield { key, was, now };
}

/** Two texts, each from where they differ; never clipped to the same words. */
export const parting = (was: string, now: string): string => `${JSON.stringify(partOf(was, now))} -> ${JSON.stringify(partOf(now, was))}`;

// Characters shown of a long text.
const MOST = 160;
const NEAR = 20;
/** The part of a long text that differs from the other, with some context; of a long difference, its beginning and end. */
export function partOf(text: string, other: string): string {
  if (text.length <= MOST && other.length <= MOST) return text;
  let [at, end] = [0, 0];
  const least = Math.min(text.length, other.length);
  while (at < least && text[at] === other[at]) at++;
  while (end < least - at && text.at(-1 - end) === other.at(-1 - end)) end++;
  const [from, to] = [Math.max(0, at - NEAR), Math.min(text.length, text.length - end + NEAR)];
  const part = to - from <= MOST ? text.slice(from, to) : `${text.slice(from, from + MOST / 2)} … ${text.slice(to - MOST / 2, to)}`;
  return `${from > 0 ? "…" : ""}${part}${to < text.length ? "…" : ""}`;
}

export const clip = (value: unknown): string =>
  typeof value === "string" && value.startsWith("{") ? clipText(value, 160) : shortJson(value, 160);

/** "7980.00" as "7,980.00". */
export const grouped = (amount: string): string =>
  amount.replace(/^(-?)(\d+)/, (_, sign: string, whole: string) => sign + whole.replace(/\B(?=(\d{3})+$)/g, ","));

/** The short name of an account: "Office Supplies" of "Expenses:Office Supplies". */
export const shortAccount = (name: string): string => name.slice(name.indexOf(":") + 1) || name;

/** `AWS: Software to Office Supplies` */
export function entryWords({ was, now }: RunDifference["entries"][number]): string {
  const about = (now ?? was)?.description ?? "";
  if (was === null || now === null) return `${about}: ${was === null ? "new" : "no longer booked"}`;
  const only = (one: EntryEffect, other: EntryEffect) =>
    one.legs.map(({ account }) => account).filter((account) => !other.legs.some((leg) => leg.account === account));
  const [from, to] = [only(was, now), only(now, was)].map((all) => all.map(shortAccount).join(" and "));
  if (from !== "" && to !== "") return `${about}: ${from} to ${to}`;
  if (from !== "" || to !== "") return `${about}: ${from === "" ? `also ${to}` : `no longer ${from}`}`;
  if (was.status !== now.status) return `${about}: ${STATUS[now.status] ?? now.status}, was ${STATUS[was.status] ?? was.status}`;
  return `${about}: ${firstDifference(was, now)}`;
}

const STATUS: Partial<Record<EntryStatus, string>> = {
  "pending-review": "waiting for a person",
  "auto-confirmed": "confirmed without a person",
  "user-confirmed": "confirmed as if by a person",
  "user-corrected": "corrected as if by a person",
};
