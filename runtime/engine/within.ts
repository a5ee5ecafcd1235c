/**
 * Approval profiles of trust.yaml: whether calls may be approved without a person. Fails closed: besides amounts a call may hold only parameters
 * whose names are known to neither multiply nor price anything; a list of names that do would never be complete.
 */
import type { Call, Json } from "../kernel/ports.ts";
import { scalarsOf } from "../rules/edits.ts";
import { isHarmless } from "../rules/tools/harmless.ts";
import { amountsIn, isAmountKey, saysCurrency } from "../rules/tools/trace.ts";
import { isAtMost, signOf } from "./authority.ts";

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
 * Why a person decides on these calls instead of the profile; null: each has an amount, none is above the limit or negative, and nothing could
 * multiply them or be one more. `fallback`: the workspace's currency, for calls that name none.
 */
export function outside(calls: readonly Call[], limit: Limit, fallback: string): string | null {
  if (calls.length === 0) return "there is no call";
  for (const { tool, params } of calls) {
    const amounts = amountsIn(params);
    // To a tool that may mean all that is open.
    if (/"amounts?":(?:null|[[{]+[\]}])/i.test(JSON.stringify(params))) return `${tool} names an amount without giving it`;
    if (amounts.length === 0) return `${tool} has no amount`;
    const over = amounts.find(({ value }) => !isAtMost(value, limit.up_to) || signOf(value) < 0);
    if (over !== undefined) return `${tool} ${over.path} is not within ${limit.up_to}`;
  }
  for (const call of calls) {
    const named = [...scalarsOf([call])].filter(([path, value]) => saysCurrency(namesOf(path).at(-1) ?? "", value));
    if (named.length === 0 ? fallback !== limit.currency : named.some(([, value]) => value !== limit.currency))
      return `${call.tool} is not in ${limit.currency}`;
  }
  const scalars = [...scalarsOf(calls)];
  const unclear = scalars.find(
    // One of several values in a list: each may cost the amount.
    ([path, value]) => /\.[1-9]\d*$/.test(path) || !isHarmless(namesOf(path), value) || isUnpriced(path, scalars),
  );
  return unclear === undefined ? null : `${unclear[0]} could multiply the amount or change what it is`;
}

const isIndex = (part: string): boolean => /^(?:0|[1-9]\d*)$/.test(part);

/** The names on a path; its beginning is the call's number and `params`. */
const namesOf = (path: string): string[] =>
  path
    .split(".")
    .slice(3)
    .filter((part) => !isIndex(part));

/** In a further element of a list that has no amount of its own: a payee, who may get that of the call. */
function isUnpriced(path: string, all: readonly (readonly [string, Json])[]): boolean {
  const elements = [...path.matchAll(/\.[1-9]\d*(?=\.)/g)].map((one) => path.slice(0, one.index + one[0].length + 1));
  return elements.some((element) => !all.some(([other]) => other.startsWith(element) && isAmountKey(namesOf(other).at(-1) ?? "") === true));
}
