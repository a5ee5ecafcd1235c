/**
 * A reading tool that answers "no such column": the one certain match is used instead, for this call only, and noted
 * (spec/worker.md 11). Ambiguity stops with the candidates. Writes are never repaired, and an empty answer is not an error.
 */
import { plainDecimal } from "../../kernel/money.ts";
import type { Json } from "../../kernel/ports.ts";
import { spelled } from "./classify.ts";
import { isObject, mapScalars, objectsIn, own } from "./shape.ts";

const PART = "(?:\"[^\"]+\"|'[^']+'|`[^`]+`|\\[[^\\]]+\\]|[\\p{L}_$][\\p{L}\\p{N}_$]*)";
const ID = `${PART}(?:\\.${PART})*`;
const IDS = `(${ID}(?:\\s*,\\s*${ID})*)`;
const SHAPES = [
  `\\b(?:column|field)s?(?:\\s+names?)?\\s+${IDS}\\s+(?:(?:was|were|is|are)\\s+)?(?:not found|does not exist|do not exist|unknown|not recognized)`,
  `\\bno such (?:column|field)s?:?\\s+${IDS}`,
  `\\binvalid (?:column|field)(?: name)?s?:?\\s+${IDS}`,
  `\\b(?:unknown|unrecognized) (?:column|field)s?:?\\s*${IDS}`,
  `\\bKeyError:\\s*${IDS}`,
].map((shape) => new RegExp(shape, "iu"));

/** Column names that an error complains about, as written and without their table; empty for other errors. */
export function schemaError(text: string, data?: Json): string[] {
  const named = isObject(data)
    ? (["column", "field", "columns", "fields"].map((key) => own(data, key)).find((one) => one !== undefined) ?? [])
    : [];
  const texts = (Array.isArray(named) ? named : [named]).filter((one): one is string => typeof one === "string");
  const found = SHAPES.map((shape) => shape.exec(text.slice(0, 4000))?.[1]).find((one) => one !== undefined);
  const all = texts.length > 0 ? texts : (found ?? "").split(/\s*,\s*/);
  const bare = all.map((one) => (one.match(new RegExp(PART, "gu"))?.at(-1) ?? "").replace(/^["'`[]|["'`\]]$/g, ""));
  return [...new Set(bare.map((one) => one.split(".").at(-1) ?? "").filter((one) => one !== ""))];
}

/** Names with one meaning. Money is left out on purpose: a price, a total and a cost are different amounts. */
const GROUPS = [
  "client_name customer_name account_name company_name org_name",
  "user_id creator_id employee_id",
  "name title label display_name full_name",
  "category type classification group kind",
  "email em e_mail email_address contact_email mail",
  "status st stat state state_code current_status",
  "owner_id oid owner asgn assigned_to assignee_id",
  "created_at created create_date creation_date ts created_date date_created timestamp",
  "updated_at updated update_date modified_at last_modified updated_date modification_date",
  "description desc descr detail details notes comments body content",
].map((group) => group.split(" "));

/** The kind that a name's last word indicates. */
const SUFFIXES: Record<string, string> = {
  ...Object.fromEntries("id no code number ref uuid key".split(" ").map((word) => [word, "id"])),
  ...Object.fromEntries("at date time on ts timestamp".split(" ").map((word) => [word, "date"])),
  ...Object.fromEntries("amount total price cost fee balance value".split(" ").map((word) => [word, "amount"])),
  ...Object.fromEntries("name title label description text".split(" ").map((word) => [word, "text"])),
};

/**
 * The one candidate that a name certainly means, or null with the possible ones. `typed`: the value beside the name and the
 * candidates' types; a candidate of another kind than the value is excluded.
 */
export function matchColumn(
  bad: string,
  candidates: readonly string[],
  typed?: { value: Json; types: ReadonlyMap<string, string> },
): { match: string | null; candidates: string[] } {
  const possible = candidates.filter((one) => typed === undefined || fitsType(typed.value, typed.types.get(one) ?? ""));
  const name = spelled(bad);
  const exact = possible.find((one) => one === bad) ?? possible.find((one) => spelled(one) === name);
  if (exact !== undefined) return { match: exact, candidates: [] };
  const strong = possible.filter((one) => sameGroup(name, spelled(one)) || sameStem(name, spelled(one)));
  if (strong.length > 0) return strong.length === 1 ? { match: strong[0] ?? null, candidates: [] } : { match: null, candidates: strong };
  const [best, next] = possible
    .map((one) => ({ one, near: nearness(name, spelled(one)) }))
    .sort((a, b) => b.near - a.near || (a.one < b.one ? -1 : 1));
  if (best !== undefined && best.near >= 0.8) {
    return best.near - (next?.near ?? 0) >= 0.1
      ? { match: best.one, candidates: [] }
      : { match: null, candidates: [best.one, next?.one ?? ""] };
  }
  // A misspelt alias (custmer_name) means what the alias means.
  const aliases = GROUPS.flat().filter((one) => nearness(name, one) >= 0.8);
  const matching = possible.filter((one) => aliases.some((alias) => sameGroup(alias, spelled(one))));
  return matching.length === 1 ? { match: matching[0] ?? null, candidates: [] } : { match: null, candidates: matching };
}

const sameGroup = (a: string, b: string): boolean => GROUPS.some((group) => group.includes(a) && group.includes(b));

function stemOf(name: string): { stem: string; kind: string } {
  const words = name.split("_");
  const kind = words.length > 1 ? (SUFFIXES[words.at(-1) ?? ""] ?? "") : "";
  return { stem: kind === "" ? name : words.slice(0, -1).join("_"), kind };
}

/** The same stem with the same kind of suffix, or with none on one side. The order of words matters. */
function sameStem(a: string, b: string): boolean {
  const [one, other] = [stemOf(a), stemOf(b)];
  return one.stem === other.stem && (one.kind === other.kind || one.kind === "" || other.kind === "");
}

function nearness(a: string, b: string): number {
  const [one, other] = [stemOf(a), stemOf(b)];
  // Two common letters are not a similarity: `emp` is not `em`.
  const long = Math.min(a.length, b.length) >= 4;
  return long && (one.kind === other.kind || one.kind === "" || other.kind === "") ? similarity(b, a) : 0;
}

/** Ratcliff and Obershelp, 1988: twice the letters in common substrings over all letters. Not symmetric. */
export function similarity(a: string, b: string): number {
  return a.length + b.length === 0 ? 1 : (2 * common(a.slice(0, 200), b.slice(0, 200))) / (a.length + b.length);
}

function common(a: string, b: string): number {
  let [length, atA, atB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length; j++) {
      let k = 0;
      while (i + k < a.length && j + k < b.length && a[i + k] === b[j + k]) k++;
      if (k > length) [length, atA, atB] = [k, i, j];
    }
  }
  return length === 0 ? 0 : length + common(a.slice(0, atA), b.slice(0, atB)) + common(a.slice(atA + length), b.slice(atB + length));
}

function fitsType(value: Json, type: string): boolean {
  const numeric = /int|num|dec|real|float|double|money/i.test(type);
  if (type === "" || value === null || typeof value === "object") return true;
  if (typeof value === "boolean") return /bool|int/i.test(type);
  if (numeric) return plainDecimal(value) !== null;
  return typeof value === "string" || !/char|text|string|date|time/i.test(type);
}

/** Replaces whole identifiers, in keys and in text. */
export function replaceIdentifiers(params: Json, from: string, to: string): Json {
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_$])${RegExp.escape(from)}(?![\\p{L}\\p{N}_$])`, "gu");
  const renamed = (value: Json): Json => (typeof value === "string" ? value.replace(pattern, () => to) : value);
  return mapScalars(params, renamed, (key) => (key === from ? to : key));
}

/** Columns that a schema tool lists, with their types if it states them. */
export function columnsOf(reply: Json): Map<string, string> {
  const found = new Map<string, string>();
  const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
  const add = (value: Json): void => {
    if (typeof value === "string") found.set(value, "");
    else if (isObject(value)) {
      const name = ["name", "column_name", "column", "field", "Field"].map((key) => text(own(value, key))).find((one) => one !== "");
      if (name !== undefined) found.set(name, text(own(value, "type")) || text(own(value, "data_type")));
    }
  };
  const lists: Json[] = Array.isArray(reply)
    ? [reply]
    : objectsIn(reply).flatMap((one) => ["columns", "fields", "properties"].map((key) => own(one, key) ?? null));
  for (const list of lists) {
    if (Array.isArray(list)) list.forEach(add);
    else if (isObject(list))
      for (const [name, type] of Object.entries(list)) found.set(name, text(type) || text(isObject(type) ? own(type, "type") : ""));
  }
  return found;
}

/** The value under an identifier as key, for the check of types. */
export function valueBeside(params: Json, name: string): Json {
  const found = objectsIn(params).find((one) => own(one, name) !== undefined);
  return found?.[name] ?? null;
}
