/**
 * Approval profiles: which calls may be approved without a person. Fails closed: a call whose amounts cannot be read as plain decimals of
 * the profile's currency, or that has none, waits for a person.
 */
import { createHash } from "node:crypto";
import type { Call } from "../ports.ts";
import { nameWords } from "../tools/classify.ts";
import { amountsIn } from "../tools/trace.ts";
import { canonicalJson } from "./canonical.ts";
import { isAtMost } from "./authority.ts";
import { scalarsOf } from "./edits.ts";

// 1,000 pieces at 99.00 are no 99.00.
const MULTIPLIES = ["quantity", "qty", "count", "units", "pieces", "hours", "times"];

/** True when each call has an amount and none is above the limit. `fallback`: the workspace's currency, for calls that name none. */
export function isWithin(calls: readonly Call[], limit: { up_to: string; currency: string }, fallback: string): boolean {
  const places = [...scalarsOf(calls)].map(([path, value]) => ({
    words: nameWords(path.split(".").findLast((part) => /\D/.test(part)) ?? ""),
    value,
  }));
  const named = places.filter(({ words }) => words.includes("currency")).map(({ value }) => value);
  return (
    calls.length > 0 &&
    calls.every((call) => amountsIn(call.params).length > 0) &&
    calls.every((call) => amountsIn(call.params).every(({ value }) => isAtMost(value, limit.up_to))) &&
    (named.length === 0 ? [fallback] : named).every((currency) => currency === limit.currency) &&
    !places.some(({ words, value }) => words.some((word) => MULTIPLIES.includes(word)) && String(value) !== "1")
  );
}

/** What an outside approval must name, so that its yes is for exactly these calls. */
export function actionHash(calls: readonly Call[]): string {
  return createHash("sha256").update(canonicalJson(calls)).digest("hex");
}
