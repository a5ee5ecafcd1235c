/**
 * Compares two values leaf by leaf: settings, policies, dialects, headers, data. Lists of named objects are compared by name, lists of words
 * by word, so that a difference is described by what differs, never as two long texts that look the same.
 */
import { clip, shortJson } from "../../kernel/text.ts";
import { apart, parting } from "../evidence/partings.ts";
import type { Json } from "../../kernel/ports.ts";
import { isObject } from "../../rules/tools/shape.ts";

export interface LeafChange {
  /** `rules[DUPLICATE].level`; for a word of a list, the list and the word. */
  key: string;
  was: Json | undefined;
  now: Json | undefined;
}

type Value = Json | undefined;

/** Keys that name an object in a list. */
const NAMES = ["id", "name", "key", "file", "text", "bank_account"];

export const same = (one: Value, other: Value): boolean => JSON.stringify(one) === JSON.stringify(other);

/** @param whole true for a key whose value has a meaning only as a whole */
export function leafChanges(was: Value, now: Value, whole: (key: string) => boolean = () => false, key = ""): LeafChange[] {
  if (same(was, now)) return [];
  const at = (name: string) => (key === "" ? name : `${key}.${name}`);
  if (!whole(key)) {
    const [before, after] = [was ?? (isObject(now) ? {} : now), now ?? (isObject(was) ? {} : was)];
    if (isObject(before) && isObject(after) && (key === "" || (was !== undefined && now !== undefined) || !nameOf(was ?? now)))
      return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
        leafChanges(before[name], after[name], whole, at(name)),
      );
    if (Array.isArray(before) && Array.isArray(after))
      return listChanges(was === undefined ? [] : before, now === undefined ? [] : after, whole, key);
  }
  return [{ key, was, now }];
}

function listChanges(was: readonly Json[], now: readonly Json[], whole: (key: string) => boolean, key: string): LeafChange[] {
  if (![...was, ...now].some(isObject)) {
    const [gone, fresh] = apart<Json>(was, now, JSON.stringify);
    const inOrder = gone.length + fresh.length === 0 ? [{ key, was: was as Json, now: now as Json }] : [];
    return [...inOrder, ...Array.from({ length: Math.max(gone.length, fresh.length) }, (_, i) => ({ key, was: gone[i], now: fresh[i] }))];
  }
  const [before, after] = [named(was), named(now)];
  const found: LeafChange[] = [];
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [old, fresh] = [before.get(name), after.get(name)];
    const twin = old === undefined ? [...before].find(([other, one]) => !after.has(other) && sameThing(one, fresh)) : undefined;
    // It was only renamed.
    if (twin !== undefined) before.delete(twin[0]);
    else if (!(fresh === undefined && [...after].some(([other, one]) => !before.has(other) && sameThing(one, old))))
      found.push(...leafChanges(old, fresh, (one) => old === undefined || fresh === undefined || whole(one), `${key}[${name}]`));
  }
  return found;
}

/** The name of an object: its first naming key, else that of an object in it with the texts beside it, so that no other rule has it. */
export function nameOf(value: Value, whole = false): string | null {
  if (!isObject(value)) return null;
  const key = NAMES.find((one) => typeof value[one] === "string" || typeof value[one] === "number");
  if (key === undefined) return nameOf(Object.values(value).find(isObject), true);
  const { [key]: name, ...rest } = value;
  return [name, ...(whole ? Object.values(rest).filter((one) => typeof one === "string") : [])].join(" ");
}

/** Objects by name; equal names are numbered. */
export function named(all: readonly Json[]): Map<string, Json> {
  const found = new Map<string, Json>();
  for (const [i, one] of all.entries()) {
    const name = nameOf(one) ?? String(i + 1);
    found.set(found.has(name) ? `${name} ${i + 1}` : name, one);
  }
  return found;
}

/** Equal except for an id that nothing else uses; a file or an account is more than a name. */
const sameThing = (one: Value, other: Value): boolean =>
  isObject(one) && isObject(other) && "id" in one && "id" in other && same({ ...one, id: "" }, { ...other, id: "" });

/** A value for readers. */
export const shownValue = (value: Value): string =>
  value === undefined ? "not set" : isObject(value) || Array.isArray(value) ? clip(inParts(value), 300) : shortJson(value, 119);
/** `match file "a.csv", account "1010"` */
function inParts(value: Json): string {
  const parts = Array.isArray(value)
    ? value.map(inParts)
    : isObject(value)
      ? Object.entries(value).map(([key, one]) => `${/^[\w.-]+$/.test(key) ? key : JSON.stringify(key)} ${inParts(one)}`)
      : [];
  return parts.length === 0 ? JSON.stringify(value) : parts.join(", ");
}

/** `KEY is NOW instead of WAS`; two long texts are shown from where they differ. */
export function changeWords({ key, was, now }: LeafChange): string {
  if (was === undefined) return `adds ${key}: ${shownValue(now)}`;
  if (now === undefined) return `removes ${key}: ${shownValue(was)}`;
  if (typeof was === "string" && typeof now === "string" && Math.max(was.length, now.length) > 100)
    return `${key} changes: ${parting(was, now)}`;
  return `${key} is ${shownValue(now)} instead of ${shownValue(was)}`;
}

/** A literal with the names around it. */
export interface Written {
  value: string | number | boolean;
  path: string;
}

const RECIPIENT_KEY =
  /(?:^|[._])(?:to|cc|bcc|channel|recipients?|e?mail|payee|beneficiary|creditor|iban|bic|account_number|bank_account|sort_code|wallet|phone)$/i;
const MAIL = /[^\s@<>,;"']+@[^\s@<>,;"']+\.[a-z]{2,}/gi;
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b/g;
// Account and card numbers; a day written as 20261231 has eight digits.
const DIGITS = /^\d{9,19}$/;
const URL_HOST = /\b(?:[a-z][a-z0-9+.-]*:)?\/\/([^\s/"'?#\\]+)/gi;
const BARE_HOST =
  /^(?:[a-z0-9-]{1,63}\.)+(?:[a-z]{2}|com|net|org|info|biz|dev|app|cloud|shop|online|site|example|test)(?::\d+)?(?:\/\S*)?$/i;
const FILE_NAME = /\.(?:ts|js|md|gz|py|sh)$/i;
const IP = /^(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?$/;
/** Where a bare word such as shop.example is an address and not a vendor's text: by its key, or in a call to the outside. */
const ADDRESS = /(?:^|[._])(?:ur[il]|host|domain|end_?point|server|site|address|webhook|callback)s?$|^(?:mcp|notify|agent)_/i;

export function recipientsIn({ value, path }: Written): string[] {
  const text = String(value);
  if (typeof value === "boolean" || text === "") return [];
  if (RECIPIENT_KEY.test(path)) return [text];
  return [...text.matchAll(MAIL), ...text.matchAll(IBAN)].map(([one]) => one).concat(DIGITS.test(text) ? [text] : []);
}

export function hostsIn({ value, path }: Written): string[] {
  if (typeof value !== "string") return [];
  const hosts = [...value.matchAll(URL_HOST)].map(([, host]) => (host ?? "").toLowerCase());
  const bare = (ADDRESS.test(path) && BARE_HOST.test(value) && !FILE_NAME.test(value)) || IP.test(value);
  return bare ? [...hosts, value.toLowerCase()] : hosts;
}
