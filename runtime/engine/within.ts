/**
 * Approval profiles of trust.yaml: whether calls may be approved without a person. Fails closed: beside its amount a call may hold only parameters
 * whose names are known to neither multiply nor price anything; a list of names that do would never be complete.
 */
import type { Call, Json } from "../kernel/ports.ts";
import { isHarmless } from "../rules/tools/harmless.ts";
import { isObject } from "../rules/tools/shape.ts";
import { isAmountKey, isPaidKey, saysCurrency } from "../rules/tools/trace.ts";
import { isAtMost, signOf } from "./authority.ts";

// A tool fills in what is left empty, perhaps with all.
const isEmpty = (value: Json): boolean => typeof value === "object" || String(value).trim() === "";

interface Limit {
  up_to: string;
  currency: string;
  /** Names of parameters that the person who wrote the profile has said to be harmless. */
  fields: readonly string[];
}

/** The calls as the profile judges them: without the parameters that it ignores. */
export const judgedBy = (calls: readonly Call[], { fields }: Pick<Limit, "fields">): readonly Call[] =>
  fields.length === 0
    ? calls
    : calls.map(({ tool, params }) => ({
        tool,
        params: JSON.parse(JSON.stringify(params), (key, value) => (fields.includes(key) ? undefined : value)) as Json,
      }));

/**
 * Why a person decides on these calls instead of the profile; null: each is one payment, flat, with one amount of what is paid, within the limit,
 * and beside it only ids, days and a currency. A tool may pay what a list or a second amount says as well, and all that is open where it is given no
 * amount. `fallback`: the workspace's currency, for calls that name none.
 */
export function outside(calls: readonly Call[], limit: Limit, fallback: string): string | null {
  if (calls.length === 0) return "there is no call";
  for (const [i, { tool, params }] of calls.entries()) {
    const all = Object.entries(isObject(params) ? params : {});
    const [[key, amount] = ["", null], ...more] = all.filter(([name]) => isAmountKey(name) === true);
    if (!isPaidKey(key) || more.length > 0) return `${tool} does not have one amount, that of what is paid`;
    if (!isAtMost(amount, limit.up_to) || signOf(amount) <= 0) return `${tool} ${key} is not within ${limit.up_to}`;
    const named = all.filter(([name, value]) => saysCurrency(name, value));
    if (named.length === 0 ? fallback !== limit.currency : named.some(([, value]) => value !== limit.currency))
      return `${tool} is not in ${limit.currency}`;
    const unclear = all.find(([name, value]) => name !== key && (isEmpty(value) || !isHarmless([name], value)));
    if (unclear !== undefined) return `calls.${i}.params.${unclear[0]} could multiply the amount or change what it is`;
  }
  return null;
}
