/**
 * Abstract values of a script that is followed without being run (follow.ts): what each is made of. A value in another form is that value, and
 * two that are computed alike are one. What is changed is logged, so that both ways of a branch begin with the same.
 */
import type { Node } from "./syntax.ts";

export interface Value {
  /** `fact`: given with the run, or read. `approved`: the answer of a gate. `rest`: of a value that is not known, without some fields. */
  kind: "literal" | "object" | "function" | "either" | "form" | "computed" | "fact" | "approved" | "answer" | "field" | "rest";
  id: number;
  /** As `id`, but equal literals have one. */
  same: number;
  /** What it is made of; for `either` what it may be. */
  parts: readonly Value[];
  text?: string;
  of?: Value;
  name?: string;
  without?: readonly string[];
  isMap?: true;
  code?: { node: Node; frame: Frame };
  /** What computed it. */
  how?: string;
  /** When it is `when`, nobody approved at these gates. */
  refused?: Refused;
}

export interface Refused {
  when: boolean;
  gates: readonly number[];
}

/** The names of one call of a function, by id. */
export interface Frame {
  vars: Map<string, Value>;
  up: Frame | null;
}

type Known = Map<unknown, unknown>;

/** Fields of an object from values that are not known. */
export const SPREAD = "...";
/** A field or element of unknown name. */
export const SOME = "*";
/** Objects within objects that are compared by what they have. */
const DEEPEST = 4;
/** What one name may be. */
const MAX_WAYS = 500;
/** Elements of a list that are followed one by one. */
const SINGLE = 12;

/** A script that is too intricate to be followed. */
export class TooLong extends Error {}

export const waysOf = (value: Value): readonly Value[] => (value.kind === "either" ? value.parts : [value]);

export function createValues() {
  const numbers = new Map<string, number>();
  const log: { map: Known; key: unknown; old: unknown }[] = [];
  /** Fields by the id of their object; also those set in a value that is not known. */
  const stored = new Map<number, Map<string, Value>>();
  /** What gates changed: of two ways the one with a gate counts. */
  const gates: Known = new Map();
  let last = 0;
  const numberOf = (text: string): number => numbers.getOrInsertComputed(text, () => ++last);
  const fresh = (kind: Value["kind"], more: Partial<Value> = {}): Value => {
    last += 1;
    return { kind, id: last, same: last, parts: [], ...more };
  };
  const literal = (text?: string): Value =>
    text === undefined ? fresh("literal") : fresh("literal", { text, same: numberOf(`=${text}`) });
  const fieldsOf = (value: Value): Map<string, Value> => stored.get(value.id) ?? new Map();

  function sameOf(value: Value, depth = DEEPEST): number {
    if (value.kind !== "object" || depth === 0) return value.same;
    return numberOf(`{${[...fieldsOf(value)].map(([name, one]) => `${name}:${sameOf(one, depth - 1)}`).sort()}}`);
  }
  const isFixed = (value: Value, depth = DEEPEST): boolean =>
    value.kind === "literal" ||
    (value.kind === "object" && depth > 0 && [...fieldsOf(value).values()].every((one) => isFixed(one, depth - 1)));

  /** One value for each way to compute it from the same; of literals alone each is another. */
  function made(kind: "form" | "computed", how: string, parts: readonly Value[]): Value {
    const same = numberOf(`${how}(${parts.map((one) => sameOf(one))})`);
    return parts.every((one) => isFixed(one)) ? fresh("literal", { same }) : { kind, id: same, same, parts, how };
  }

  /** Any of these; a value that is not known when there are none. */
  function join(...all: (Value | undefined)[]): Value {
    const ways = [...new Map(all.flatMap((one) => (one === undefined ? [] : waysOf(one))).map((one) => [one.id, one])).values()];
    if (ways.length < 2) return ways[0] ?? fresh("answer");
    if (ways.length > MAX_WAYS) throw new TooLong();
    const id = numberOf(`either ${ways.map((one) => one.id).sort()}`);
    return { kind: "either", id, same: id, parts: ways };
  }

  /** name: null for any. */
  function field(value: Value, name: string | null): Value {
    if (value.kind === "either") return join(...value.parts.map((one) => field(one, name)));
    const own = fieldsOf(value);
    const rest = own.get(SPREAD);
    if (value.kind === "object") {
      if (own.size === 0) return literal();
      if (name === null) return join(...[...own].map(([key, one]) => (key === SPREAD ? field(one, null) : one)));
      const known = own.get(name);
      return join(known, own.get(SOME), known === undefined && rest !== undefined ? field(rest, name) : undefined);
    }
    if (name !== null && own.has(name)) return own.get(name) as Value;
    if (value.kind === "literal") return fresh("literal", { same: numberOf(`${value.same}.${name}`) });
    const key = name ?? "0";
    const from = value.kind === "rest" && !value.without?.includes(key) ? (value.of as Value) : value;
    const id = numberOf(`${from.id}.${key}`);
    return { kind: "field", id, same: id, parts: [], of: value, name: key };
  }

  function put(map: Known, key: unknown, value: unknown): void {
    log.push({ map, key, old: map.get(key) });
    map.set(key, value);
  }

  function set(value: Value, name: string | null, to: Value): void {
    const isCertain = value.kind !== "either" && name !== null && name !== SPREAD;
    for (const one of waysOf(value)) {
      const own = stored.getOrInsertComputed(one.id, () => new Map());
      put(own, name ?? SOME, isCertain ? to : join(own.get(name ?? SOME), to));
    }
  }

  /** An object, map or list with these fields; a list may have some of an unknown place. */
  function object(fields: Iterable<readonly [string | null, Value]> = [], more: Partial<Value> = {}): Value {
    const value = fresh("object", more);
    for (const [name, one] of fields) set(value, name, one);
    return value;
  }

  /** `{ ...from }` */
  function spread(value: Value, from: Value): void {
    for (const one of waysOf(from))
      if (one.kind !== "object") set(value, SPREAD, one);
      else
        for (const [name, each] of fieldsOf(one))
          set(value, name === SOME ? null : name, from === one ? each : join(fieldsOf(value).get(name), each));
  }

  function without(value: Value, names: readonly string[]): Value {
    if (value.kind === "either") return join(...value.parts.map((one) => without(one, names)));
    if (value.kind === "object") return object([...fieldsOf(value)].filter(([name]) => !names.includes(name)));
    const id = numberOf(`${value.id} without ${names}`);
    return { kind: "rest", id, same: id, parts: [], of: value, without: names };
  }

  /** The elements of a list, a map or a set; one of an unknown place stands for any number. */
  function itemsOf(value: Value): (readonly [string | null, Value])[] {
    const all = [...fieldsOf(value)];
    if (value.kind === "object" && !value.isMap && all.length <= SINGLE && all.every(([name]) => /^\d+$/.test(name))) return all;
    return [[null, join(...waysOf(value).map((one) => (one.isMap ? pair(field(one, null)) : field(one, null))))]];
  }

  function rootOf(value: Value): Value {
    let root = value;
    while (root.of !== undefined) root = root.of;
    return root;
  }

  const elementOf = (value: Value): Value => join(...itemsOf(value).map(([, one]) => one));
  const listOf = (one: Value): Value => object([[null, one]]);
  const pair = (value: Value): Value =>
    object([
      ["0", literal()],
      ["1", value],
    ]);

  /** A list of these, each with how many it stands for. */
  function listWith(all: Iterable<readonly [value: Value, isOne: boolean]>): Value {
    let at: number | null = 0;
    const value = object();
    for (const [one, isOne] of all) {
      if (!isOne) at = null;
      set(value, at === null ? null : `${at++}`, one);
    }
    return value;
  }

  /** The elements from this place on. */
  const after = (value: Value, from: number): Value =>
    value.kind === "object"
      ? listWith([...fieldsOf(value)].flatMap(([name, one]) => (Number(name) < from ? [] : [[one, name !== SOME] as const])))
      : without(value, [...Array(from).keys()].map(String));

  /**
   * Each way from the same beginning; afterwards everything is as any of them left it, or as the one with a gate did. A way that answers null left
   * the script, and counts for nothing.
   */
  function choose<T>(ways: readonly (() => T)[]): T[] {
    const ends = ways.map((way) => {
      const from = log.length;
      const result = way();
      const wrote = new Map<Known, Known>();
      for (const { map, key } of log.slice(from)) wrote.getOrInsertComputed(map, () => new Map()).set(key, map.get(key));
      for (const { map, key, old } of log.splice(from).reverse()) old === undefined ? map.delete(key) : map.set(key, old);
      return { result, wrote };
    });
    const left = ends.filter(({ result }) => result !== null);
    for (const map of new Set(left.flatMap(({ wrote }) => [...wrote.keys()])))
      for (const key of new Set(left.flatMap(({ wrote }) => [...(wrote.get(map)?.keys() ?? [])]))) {
        const first = left.filter(({ wrote }) => wrote.has(gates) && wrote.get(map)?.has(key));
        const all = (first.length > 0 ? first : left).map(({ wrote }) => wrote.get(map)?.get(key) ?? map.get(key));
        put(map, key, map === gates ? all.find((one) => one !== undefined) : join(...(all as (Value | undefined)[])));
      }
    return left.map(({ result }) => result);
  }

  const objects = { rootOf, field, fieldsOf, set, object, spread, without, itemsOf, elementOf, listOf, pair, listWith, after };
  return { gates, fresh, literal, made, join, put, choose, ...objects };
}

export type Values = ReturnType<typeof createValues>;
