/**
 * Edit, then approve: what a person may change in the calls of a card, and what they changed. Only scalars change, each keeps its
 * type (text, number, boolean), and neither a call nor its tool is added or dropped.
 */
import { isDay } from "../kernel/day.ts";
import { ClearedError, didYouMean } from "../kernel/errors.ts";
import { plainDecimal } from "../kernel/money.ts";
import type { Call, Card, CardKind, Decision, Json } from "../kernel/ports.ts";
import { jsonOf } from "../kernel/text.ts";
import { normalText } from "./grounding.ts";
import { dayOrMoment } from "./policy/values.ts";
import { nameWords } from "./tools/classify.ts";
import { isAmountKey } from "./tools/trace.ts";

/** `path`: `calls.0.params.lines.2.amount` */
export type Edit = { path: string; from: Json; to: Json };

/** The last name in a path, skipping list indexes: `amount` of `calls.0.params.amount`. */
export const keyOf = (path: string): string => path.split(".").findLast((part) => /\D/.test(part)) ?? "";

/** The scalars of these values, by path. */
export function leavesOf(values: Iterable<readonly [path: string, value: unknown]>): Map<string, Json> {
  const found = new Map<string, Json>();
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) found.set(path, (value ?? null) as Json);
    else for (const [key, each] of Object.entries(value)) walk(each, `${path}.${key}`);
  };
  for (const [path, value] of values) walk(value, path);
  return found;
}

/** The scalars of the calls, by path. */
export const scalarsOf = (calls: readonly Call[]): Map<string, Json> =>
  leavesOf(calls.map(({ params }, i) => [`calls.${i}.params`, params] as const));

/** Names of what a person may word in another way. */
const WORDED = /(?:^|_)(?:notes?|memo|reason|resolution|description|comments?|message|subject|title|text)$/;

/** Whoever looks after a case, who may be somebody else. */
const IN_CHARGE = new Set("owner lead manager csm assignee approver reviewer assigned_to".split(" "));

/** For whom or about what something is done. The holder of an account is who is paid. */
const WHOM = new Set(
  `to payee recipient beneficiary creditor vendor supplier customer employee user iban account reference order invoice ticket account_owner
  account_holder`.split(/\s+/),
);

/** What a name, or its beginning, is about: vendor of `vendor_id`, `vendors.0` and `vendor.name`, to of `pay_to`. */
function subjectOf(path: string): string[] {
  for (const part of path.split(".").slice(3).reverse()) {
    const words = nameWords(part)
      .join("_")
      .replace(/(?:^|_)(?:ids?|no|number|name|email|code|\d+)$/, "")
      .split("_");
    if (words[0] !== "") return [words.slice(-2).join("_"), words.at(-1) ?? ""].map((one) => one.replace(/s$/, ""));
  }
  return ["to"];
}

const MONTH = /^\d{4}-\d\d$/;

/** One word that names something: no sentence, no figure. */
const WORD = /^(?=.*[A-Za-z])[\w.:@/+-]{1,200}$/;

export const isNote = (key: string, value: Json): boolean => WORDED.test(key) && typeof value === "string" && plainDecimal(value) === null;

export const IN_DIGITS = "in digits with at most one point, such as 2000.00";

/** True for what stands as an amount and cannot be compared: `2,000.00`. */
export const isUnread = (path: string, value: Json): boolean => isAmountKey(keyOf(path)) === true && plainDecimal(value) === null;

/**
 * Paths of what says in these calls for whom or about what they are: references, by which an act is found again; under a name that says for whom, what
 * the run was given, has read or has read by, whatever it was called there and however it is written; else a word that it had under the same name.
 * Amounts, whole days, notes and whoever looks after the case may change.
 * @param texts calls by which records were read, the run's input, and what it has read; all as JSON
 */
export function recordsIn(calls: readonly Call[], texts: readonly string[]): string[] {
  const plain = (value: Json) => normalText(String(value)).replace(/[\s-]/g, "");
  const parsed = texts.flatMap((text, i) => (text === "" ? [] : [[`${i}`, JSON.parse(text)] as const]));
  const known = new Set([...leavesOf(parsed)].flatMap(([path, value]) => [plain(value), `${keyOf(path)} ${plain(value)}`]));
  const isRecord = (path: string, value: Json): boolean => {
    const key = keyOf(path);
    if (key === "reference") return true;
    if (typeof value === "boolean" || plain(value) === "" || isNote(key, value)) return false;
    if (dayOrMoment(String(value)) !== null) return false;
    const subject = subjectOf(path);
    if (subject.some((one) => WHOM.has(one))) return known.has(plain(value));
    if (subject.some((one) => IN_CHARGE.has(one)) || typeof value !== "string") return false;
    return (WORD.test(value) || MONTH.test(value)) && known.has(`${key} ${plain(value)}`);
  };
  return [...scalarsOf(calls)].flatMap(([path, value]) => (isRecord(path, value) ? [path] : []));
}

/** What the later calls hold and the card did not show, and is no note: nobody was asked about it. */
export function addedIn(before: readonly Call[], after: readonly Call[]): { path: string; value: Json }[] {
  const added: { path: string; value: Json }[] = [];
  const walk = (old: Json | undefined, now: Json, at: string): void => {
    if (typeof now !== "object" || now === null) return;
    for (const [key, value] of Object.entries(now))
      if (holds(old, key)) walk(old[key], value, `${at}.${key}`);
      else if (!isNote(key, value)) added.push({ path: `${at}.${key}`, value });
  };
  for (const [i, { params }] of after.entries()) walk(before[i]?.params, params, `calls.${i}.params`);
  return added;
}

/** Scalars that differ, are new or are gone, by path. */
export const changesIn = (before: readonly Call[], after: readonly Call[]): Edit[] => differences(scalarsOf(before), scalarsOf(after));

/** The same, of what a person changed: "@approver" and "@reason" are filled in by the runtime (`spoken` in engine/approval.ts). */
export const editsIn = (before: readonly Call[], after: readonly Call[]): Edit[] =>
  changesIn(before, after).filter(({ from }) => !isFilledIn(from));

/** True for a placeholder that the runtime fills in. */
export const isFilledIn = (value: Json): boolean => value === "@approver" || value === "@reason";

/** `calls.0.params.amount "100.00" -> "50.00", ...` */
export const editWords = (edits: readonly Edit[]): string =>
  edits.map(({ path, from, to }) => `${path} ${JSON.stringify(from)} -> ${JSON.stringify(to)}`).join(", ");

type Edited = Pick<Card, "calls" | "edited" | "decision">;

/** The calls that were decided, else those that an approval would now allow: as a person last edited them. */
export const callsOf = ({ decision, edited, calls }: Edited): Call[] => decision?.calls ?? edited ?? calls;

/** What people changed in the calls before they were decided, or so far. */
export const editsOf = (card: Edited): Edit[] =>
  editsIn(card.calls, card.decision?.decision === "rejected" ? (card.edited ?? card.calls) : callsOf(card));

/** The question as its script wrote it, which an edit does not rewrite. */
export const titleOf = (card: Edited & Pick<Card, "title">): string =>
  `${card.title.trim() === "" ? "(no text)" : card.title}${editsOf(card).length === 0 ? "" : " (before the edit)"}`;

export function differences(old: ReadonlyMap<string, Json>, now: ReadonlyMap<string, Json>): Edit[] {
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((path) => {
    const [from, to] = [old.get(path) ?? null, now.get(path) ?? null];
    return from === to ? [] : [{ path, from, to }];
  });
}

/** What an amount is in its call: amounts of the same kind, in rows of one list or calls of one tool, are equal by chance, except the two sides of an entry. */
const kindOf = (path: string, value: Json, calls: readonly Call[]): string =>
  `${calls[Number(path.split(".")[1])]?.tool} ${path.replace(/\d+/g, "*")} ${String(value).startsWith("-")}`;

/** Paths of amounts with the same figure that are not of one kind: changing only one of them is rarely intended. Zeros are left out. */
export function equalAmounts(calls: readonly Call[]): { path: string; kind: string }[][] {
  const amounts = [...scalarsOf(calls)].filter(([path]) => isAmountKey(keyOf(path)) === true);
  const byFigure = Map.groupBy(amounts, ([, value]) => plainDecimal(value)?.replace("-", "") ?? "0");
  byFigure.delete("0");
  return [...byFigure.values()]
    .map((equal) => equal.map(([path, value]) => ({ path, kind: kindOf(path, value, calls) })))
    .filter((equal) => new Set(equal.map(({ kind }) => kind)).size > 1);
}

/** Of the values that a page's fields show, those that were changed: a field left as it was confirms nothing. */
export function changedOf(calls: readonly Call[], set: Readonly<Record<string, string>>): Record<string, string> {
  const known = scalarsOf(calls);
  return Object.fromEntries(Object.entries(set).filter(([path, text]) => !known.has(path) || String(known.get(path)) !== text));
}

/** The rows in which an amount stands: `2` of `calls.0.params.lines.2.amount`. */
const rowsOf = (path: string): string => (path.match(/(?<=\.)\d+(?=\.)/g) ?? []).slice(1).join();

const MOST_NAMED = 5;

/** @throws USAGE when one of several equal amounts is changed and the others are not mentioned */
function assertEqualsKept(calls: readonly Call[], edited: readonly Call[], mentioned: ReadonlySet<string>): void {
  const [before, after] = [scalarsOf(calls), scalarsOf(edited)];
  for (const equal of equalAmounts(calls)) {
    const changed = equal.find(({ path }) => after.get(path) !== before.get(path));
    if (changed === undefined) continue;
    const others = equal.filter(({ kind }) => kind !== changed.kind);
    const beside = others.filter(({ path }) => rowsOf(path) === rowsOf(changed.path));
    const left = (beside.length > 0 ? beside : others).filter(({ path }) => !mentioned.has(path)).map(({ path }) => path);
    if (left.length === 0) continue;
    const [shown, more] = [left.slice(0, MOST_NAMED), left.length > MOST_NAMED ? ` and ${left.length - MOST_NAMED} more` : ""];
    const stays = shown.map((path) => `--set ${path}=${String(before.get(path))}`).join(" ");
    throw new ClearedError(
      "USAGE",
      `${changed.path} changes, and the same amount would stay in ${shown.join(", ")}${more}. Change them too, or confirm that they stay: on the page by the tick “Leave the other places as they are”, in a terminal with ${stays}${more}`,
    );
  }
}

/**
 * The calls with these values, passed as text by path. `amount` is short for `calls.0.params.amount` where only one call has it; a
 * new parameter is added as text, by its whole path only, so that a typing mistake adds none.
 * @throws USAGE
 */
export function editCalls(calls: readonly Call[], sets: Readonly<Record<string, string>>): Call[] {
  const edited = structuredClone([...calls]);
  const known = scalarsOf(calls);
  const mentioned = new Set<string>();
  for (const [given, text] of Object.entries(sets)) {
    const isFullPath = /^calls\.\d+\.params\./.test(given);
    const matching = [...known.keys()].filter((one) => one.replace(/^calls\.\d+\.params\./, "") === given);
    const path = isFullPath || matching.length !== 1 ? given : (matching[0] as string);
    const [, place = "", inside = ""] = /^calls\.(\d{1,4})\.params\.(.+)$/.exec(path) ?? [];
    const call = edited[Number(place)];
    const keys = inside.split(".");
    const last = keys.pop() ?? "";
    let holder: Json | undefined = place === "" ? undefined : call?.params;
    for (const key of keys) holder = holds(holder, key) ? holder[key] : undefined;
    const exists = holds(holder, last);
    const old = known.get(path);
    const canAdd = isFullPath && typeof holder === "object" && holder !== null && !Array.isArray(holder) && last !== "__proto__";
    const fits = exists ? old !== undefined : canAdd;
    if (!fits) {
      const names = [...known.keys()].map((one) => (calls.length === 1 ? one.replace("calls.0.params.", "") : one));
      throw new ClearedError(
        "USAGE",
        `"${given}" cannot be set.${didYouMean(given, names)} There are ${names.slice(0, 20).join(", ") || "none"}.`,
      );
    }
    if (isFilledIn(old ?? null))
      throw new ClearedError(
        "USAGE",
        `${path} becomes ${old === "@approver" ? "whoever approves" : "the reason given"}, and cannot be set.`,
      );
    mentioned.add(path);
    (holder as Record<string, Json>)[last] = exists ? likeOld(given, old ?? null, text) : text;
  }
  assertEqualsKept(calls, edited, mentioned);
  return edited;
}

function holds(value: Json | undefined, key: string): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key);
}

/** @throws USAGE */
function likeOld(path: string, old: Json, text: string): Json {
  const wrong = (what: string) => new ClearedError("USAGE", `${path} is ${JSON.stringify(old)}; enter another ${what}, not "${text}".`);
  if (isDay(String(old)) && !isDay(text)) throw wrong("day of the calendar");
  if (isUnread(path, text) && !isUnread(path, old)) throw wrong(`amount ${IN_DIGITS}`);
  if (isAmountKey(keyOf(path)) === true && placesOf(text) > Math.max(2, placesOf(String(old)))) throw wrong("amount with fewer decimals");
  if (typeof old === "string") return text;
  const value = jsonOf(text);
  if (value === undefined && old === null) return text;
  if (value !== undefined && (old === null ? typeof value !== "object" : typeof value === typeof old)) return value;
  throw wrong(typeof old);
}

const placesOf = (decimal: string): number => (plainDecimal(decimal) === null ? 0 : (decimal.split(".")[1]?.length ?? 0));

/** The input of a form in the types of its fields, without empty ones. Text of a wrong type stays text, so that the check names it. */
export function readForm(fields: Json, given: Readonly<Record<string, string>>): { [name: string]: Json } {
  const types = fields as Record<string, { type?: string; enum?: Json[] }>;
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, text]) => text !== "")
      .map(([name, text]) => {
        const { type = "string", enum: options } = Object.hasOwn(types, name) ? (types[name] ?? {}) : {};
        if (["string", "money", "date"].includes(type)) return [name, options?.find((one) => String(one) === text) ?? text];
        const value = jsonOf(text);
        return [name, value === undefined ? text : value];
      }),
  );
}

/** The kinds of cards on which each part of an answer means something. */
const TAKEN_BY = {
  account: ["entry", "account", "correction"],
  result: ["form", "in_doubt"],
  despite: ["proposal"],
} satisfies { [part in keyof Decision]?: CardKind[] };

/** An answer with more than its card takes is meant for another card: this one could be a payment, by a mistyped number. @throws USAGE */
export function assertMeant(card: Card, decision: Decision): void {
  const parts = Object.entries(TAKEN_BY).filter(
    ([part, kinds]) => Object.hasOwn(decision, part) && !(kinds as string[]).includes(card.kind),
  );
  const [extra] = [
    ...parts.map(([part]) => `no ${part}`),
    ...(decision.decision === "edited" && card.kind !== "approval" ? ["no edit"] : []),
  ];
  if (extra !== undefined)
    throw new ClearedError("USAGE", `Card ${card.id} ("${card.title}") takes ${extra}. Nothing was decided; look at it, then decide.`);
  if (/"__proto__":/.test(JSON.stringify(decision.result ?? null)))
    throw new ClearedError("USAGE", `A result has no key "__proto__": no script could read it. Nothing was decided.`);
}
