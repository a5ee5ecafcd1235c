/**
 * Approval profiles: which calls may be approved without a person. Fails closed: a call whose amounts cannot be read as plain decimals of
 * the profile's currency, or that has none, waits for a person.
 */
import { createHash } from "node:crypto";
import { plainDecimal } from "../kernel/money.ts";
import type { Call, Json } from "../kernel/ports.ts";
import { nameWords } from "../rules/tools/classify.ts";
import { amountsIn, isAmountKey, MULTIPLIES, saysCurrency } from "../rules/tools/trace.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { isAtMost } from "./authority.ts";
import { keyOf, scalarsOf } from "./edits.ts";

/** True when each call has an amount and none is above the limit. `fallback`: the workspace's currency, for calls that name none. */
export function isWithin(calls: readonly Call[], limit: { up_to: string; currency: string }, fallback: string): boolean {
  const places = [...scalarsOf(calls)].map(([path, value]) => ({ words: nameWords(keyOf(path)), value }));
  return (
    calls.length > 0 &&
    calls.every((call) => amountsIn(call.params).length > 0) &&
    calls.every((call) => amountsIn(call.params).every(({ value }) => isAtMost(value, limit.up_to))) &&
    calls.every((call) => currenciesOf(call, fallback).every((currency) => currency === limit.currency)) &&
    !places.some(({ words, value }) => words.some((word) => word === "days" || MULTIPLIES.includes(word)) && String(value) !== "1") &&
    !places.some(({ words, value }) => isUnclear(words, value))
  );
}

/** What a call names, else the workspace's. */
function currenciesOf(call: Call, fallback: string): Json[] {
  const named = [...scalarsOf([call])].filter(([path, value]) => saysCurrency(keyOf(path), value));
  return named.length === 0 ? [fallback] : named.map(([, value]) => value);
}

/** An amount that cannot be read, or a figure under a name that says nothing: it may be money. */
function isUnclear(words: readonly string[], value: Json): boolean {
  const money = isAmountKey(words.join("_"));
  if (money === true) return value !== null && plainDecimal(value) === null;
  return money === null && plainDecimal(value) !== null && String(value) !== "1";
}

/** What an outside approval must name, so that its yes is for exactly these calls. */
export function actionHash(calls: readonly Call[]): string {
  return createHash("sha256").update(canonicalJson(calls)).digest("hex");
}
