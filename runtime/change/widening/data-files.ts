/**
 * Compares data files, JSON and CSV, value by value: each difference has its element and key, even if the file is a single line. Content that
 * does not survive parsing and printing, such as a duplicate key, is left to the comparison by lines.
 */
import { clip, jsonOf } from "../../kernel/text.ts";
import type { Json } from "../../kernel/ports.ts";
import { isObject } from "../../rules/tools/shape.ts";
import { readRecords } from "../../workspace/statements/records.ts";
import { apart } from "../evidence/partings.ts";
import { nameOf } from "./leaves.ts";

/** A value of a file; null: absent. Values of one added or removed element are combined. `given`: its current values, by key. */
export interface DataChange {
  key: string;
  was: string | null;
  now: string | null;
  given: Leaf[];
}

/** Prefix of a number, which is kept as written. */
const NUMBER = "\uE000";
const RECORDS = 50_000;
type Leaf = [key: string, value: string];

/** The differences; `order`: two keys of which the first now comes before the second. Null if it is not data, or differs only in white space. */
export function dataChanges(path: string, was: string, now: string): { changes: DataChange[]; order: [string, string] | null } | null {
  const [before, after] = [was, now].map((text) => valueIn(path, text));
  if (before === null || before === undefined || after === null || after === undefined) return null;
  const [old, fresh] = [leavesOf(before), leavesOf(after)];
  const [gone, added] = apart(old, fresh, (leaf) => leaf.join("\n"));
  const left = Map.groupBy(gone, ([key]) => key);
  const rest: Leaf[] = [];
  const changes = added.flatMap(([key, value]): DataChange[] => {
    const twin = left.get(key)?.shift();
    if (twin === undefined) rest.push([key, value]);
    return twin === undefined ? [] : [{ key, was: shown(twin[1]), now: shown(value), given: [[key, plain(value)]] }];
  });
  const told = (leaves: readonly Leaf[]) => inElements(leaves).map(([key, text, all]) => ({ key, text, given: all }));
  const all = [
    ...changes,
    ...told(rest).map(({ key, text, given }) => ({ key, was: null, now: text, given })),
    ...told([...left.values()].flat()).map(({ key, text }) => ({ key, was: text, now: null, given: [] })),
  ];
  const order = movedIn(old, fresh);
  return all.length === 0 && order === null ? null : { changes: all, order };
}

function valueIn(path: string, text: string): Json | null {
  if (text.trim() === "") return [];
  if (text.includes(NUMBER)) return null;
  if (/\.json$/i.test(path)) {
    const parts = /("(?:\\.|[^"\\])*")|(-?\d[\d.eE+-]*)|\s+/g;
    const whole = text.replace(parts, (_, quoted?: string, number?: string) => quoted ?? (number ? JSON.stringify(NUMBER + number) : ""));
    const value = jsonOf(whole);
    return value !== undefined && JSON.stringify(value) === whole ? value : null;
  }
  if (!/\.[ct]sv$/i.test(path)) return null;
  const [first = ""] = text.split("\n", 1);
  const [delimiter = ","] = [",", ";", "\t"].sort((a, b) => first.split(b).length - first.split(a).length);
  const read = readRecords(text, delimiter, RECORDS);
  const [head, ...rows] = read?.records ?? [];
  const keys = head?.cells ?? [];
  const isTable = read?.more === false && new Set(keys).size === keys.length && head?.broken === undefined;
  if (!isTable || rows.some(({ cells, broken }) => broken !== undefined || cells.length !== keys.length)) return null;
  return rows.map(({ cells }) => Object.fromEntries(keys.map((key, i) => [key, cells[i] ?? ""])));
}

/** Each value with its path: `payees[Acme].iban`; elements without a unique name by number. */
function leavesOf(value: Json, key = ""): Leaf[] {
  if (Array.isArray(value) && value.length > 0) {
    const names = value.map((one) => nameOf(one) ?? (isObject(one) ? Object.values(one).find((cell) => typeof cell === "string") : null));
    const own = (name: unknown, i: number) => (!name || names.indexOf(name as string) !== i ? i + 1 : plain(String(name)));
    return value.flatMap((one, i) => leavesOf(one, `${key}[${own(names[i], i)}]`));
  }
  if (isObject(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([name, one]) => leavesOf(one as Json, key === "" ? name : `${key}.${name}`));
  return key === "" ? [] : [[key, JSON.stringify(value)]];
}

const shown = (value: string): string => clip(value.startsWith(`"${NUMBER}`) ? plain(value) : value, 119);
const plain = (value: string): string => value.replace(/^"|"$/g, "").replace(NUMBER, "");

/** All values of an element combined. */
function inElements(leaves: readonly Leaf[]): [key: string, text: string, all: Leaf[]][] {
  const whole = Map.groupBy(leaves, ([key]) => key.slice(0, key.lastIndexOf("]") + 1) || key);
  return [...whole].map(([key, all]) => {
    const parts = all.map(([one, value]) => `${one.slice(key.length).replace(/^\./, "")} ${shown(value)}`.trim());
    return [key, clip(parts.join(", "), 300), all.map(([one, value]) => [one, plain(value)])];
  });
}

function movedIn(old: readonly Leaf[], fresh: readonly Leaf[]): [string, string] | null {
  const [before, after] = [new Set(old.map(([key]) => key)), new Set(fresh.map(([key]) => key))];
  const [was, now] = [[...before].filter((key) => after.has(key)), [...after].filter((key) => before.has(key))];
  const at = now.findIndex((key, i) => key !== was[i]);
  return at < 0 ? null : [now[at] ?? "", was[at] ?? ""];
}
