/**
 * Approval profiles of trust.yaml: whether calls may be approved without a person. Fails closed: besides amounts a call may hold only parameters
 * whose names are known to neither multiply nor price anything; a list of names that do would never be complete.
 */
import type { Call, Json } from "../kernel/ports.ts";
import { scalarsOf } from "../rules/edits.ts";
import { isHarmless } from "../rules/tools/harmless.ts";
import { amountsIn, decimalOf, isPaidKey, saysCurrency } from "../rules/tools/trace.ts";
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
 * Why a person decides on these calls instead of the profile; null: each has an amount of what is paid, none is above the limit or negative,
 * and nothing could multiply them or be one more. `fallback`: the workspace's currency, for calls that name none.
 */
export function outside(calls: readonly Call[], limit: Limit, fallback: string): string | null {
  if (calls.length === 0) return "there is no call";
  for (const { tool, params } of calls) {
    // To a tool a missing amount may mean all that is open.
    if (/"amounts?":(?:null|[[{]+[\]}])/i.test(JSON.stringify(params))) return `${tool} names an amount without giving it`;
    if (![...scalarsOf([{ tool, params }])].some(pays)) return `${tool} has no amount of what is paid`;
    const over = amountsIn(params).find(({ value }) => !isAtMost(value, limit.up_to) || signOf(value) < 0);
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

const pays = ([path, value]: readonly [string, Json]): boolean =>
  isPaidKey(namesOf(path).at(-1) ?? "") && !["0", null].includes(decimalOf(value));

/** In one of several elements of a list that has no amount of its own: a payee, who may get that of the call, or all that is open. */
function isUnpriced(path: string, all: readonly (readonly [string, Json])[]): boolean {
  const lists = [...path.matchAll(/\.\d+(?=\.)/g)].map(({ 0: at, index }) => [path.slice(0, index), at] as const);
  const has = (start: string, what = pays) => all.some((one) => one[0].startsWith(start) && what(one));
  return lists.some(([list, at]) => has(`${list}.1.`, () => true) && !has(`${list}${at}.`));
}
