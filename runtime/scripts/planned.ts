/**
 * Values that a script planned for a call and uses after the gate that asked for that call, when a person may have changed it.
 * Returned as data with their key in the call, and whether they are facts: given with the run, or read. A value passed to a script
 * that builds the calls is planned too; a value under `planned:` after the gate is named so on purpose.
 */
import type { Compiled } from "../kernel/ports.ts";
import { calleeOf, methodOf } from "./forms.ts";
import type { Names } from "./names.ts";
import { type Node, bare, literalText, nameOf, readIn, valueIn, within } from "./syntax.ts";

export type Planned = NonNullable<Compiled["planned"]>[number];

const DEEPEST = 6;
/** Any field of this value: it was spread into the call. */
const ANY = "*";

/** In source order. sites: the calls of primitives, by node. */
export function plannedOf(
  body: readonly Node[],
  sites: ReadonlyMap<Node, number>,
  { ids, given: values }: Names,
  at: (offset: number) => Planned["at"],
): Planned[] {
  const pushed = pushedIn();
  const [assessed, acting] = assessedIn([...sites.keys()]);
  const isFact = (place: string): boolean => isGiven(values.get(place.split(".")[0] ?? ""), DEEPEST);
  return [...sites.keys()].flatMap((gate) => {
    const calls = callsAskedFor(gate);
    if (calls === null) return [];
    const keys = new Map<string, string>();
    collectKeys(calls, keys, false, DEEPEST, new Set());
    addDerived(keys, gate.start);
    return body.flatMap((node) => [...usesIn(node, keys, gate.end)]);
  });

  /** The keys of values in the `params` of an expression and of what its names stand for. */
  function collectKeys(node: Node, keys: Map<string, string>, inside: boolean, depth: number, seen: Set<string>): void {
    const key = nameOf(node);
    const text = key === null ? null : placeOf(bare(node["value"] as Node));
    if (inside && key !== null && text !== null) keys.set(text, key);
    if (inside && node.type === "SpreadElement") {
      const spread = placeOf(bare(node["argument"] as Node));
      if (spread !== null) keys.set(`${spread}.${ANY}`, ANY);
    }
    if (node.type === "Identifier" && depth > 0) {
      const name = idOf(node);
      const look = `${name} ${inside}`;
      const known = seen.has(look) ? [] : [...(values.get(name) ?? []), ...(pushed.get(name) ?? [])];
      seen.add(look);
      // An answer of a primitive is not a plan of this script; a value passed to another script that makes the calls is.
      for (const one of known) {
        const made = bare(one);
        if (!sites.has(made)) collectKeys(one, keys, inside, depth - 1, seen);
        else if (depth === DEEPEST && calleeOf(made) === "script_run")
          for (const given of made["arguments"] as Node[]) collectKeys(given, keys, true, 0, seen);
      }
    }
    for (const child of valuesIn(node)) collectKeys(child, keys, inside || key === "params", Math.min(depth, DEEPEST - 1), seen);
  }

  /** A value computed or composed from planned values before the gate is as stale as they are. */
  function addDerived(keys: Map<string, string>, before: number): void {
    for (let size = -1; size !== keys.size; ) {
      size = keys.size;
      for (const [name, given] of values) {
        const from = given
          .filter(
            (one) => one.end < before && (one.type === "TemplateLiteral" || /^(?:compute_|script_run$)/.test(calleeOfCall(bare(one)))),
          )
          .flatMap((one) => [...usesIn(one, keys, 0)])
          .filter((one) => !one.fact);
        if (from[0] !== undefined && !keys.has(name)) keys.set(name, from[0].key);
      }
    }
  }

  function* usesIn(node: Node, keys: ReadonlyMap<string, string>, after: number): Generator<Planned> {
    const place = placeOf(node);
    if (place !== null && node.start > after) {
      const [, field = ""] = place.split(".");
      const key = keys.get(place) ?? (keys.has(`${place.split(".")[0]}.${ANY}`) ? field : undefined);
      if (key !== undefined && key !== "") {
        const fact = isFact(place);
        return void (yield { name: place.replace(/#\d+/, ""), key, at: at(node.start), ...(fact ? { fact } : {}) });
      }
    }
    for (const child of valuesIn(node)) {
      // The fallback for a call that was not made.
      const fallback = node.type === "LogicalExpression" && node["operator"] === "??" && child === node["right"];
      if (!fallback && !(node.type === "Property" && nameOf(node) === "planned")) yield* usesIn(child, keys, after);
    }
  }

  /** True for a value that cannot be a plan: given with the run, read, or a boolean that follows from it. */
  function isGiven(given: readonly Node[] = [], depth: number): boolean {
    const plain = (node: Node): boolean => {
      const one = bare(node);
      const callee = calleeOfCall(one);
      if (one.type === "Identifier") return idOf(one) === "input" || (depth > 0 && isGiven(values.get(idOf(one)), depth - 1));
      if (one.type === "MemberExpression") return plain(one["object"] as Node);
      if (one.type === "LogicalExpression") return plain(one["left"] as Node) && plain(one["right"] as Node);
      if (callee === "script_run") return one.start > assessed && one.start < acting;
      return READS.test(callee) || one.type === "BinaryExpression" || one.type === "UnaryExpression";
    };
    return given.length > 0 && given.every(plain);
  }

  /** An identifier's id; for one that the script does not declare, such as `input`, its text. */
  function idOf(node: Node): string {
    return ids.get(node) ?? (node["name"] as string);
  }

  /** `amount` or `pay.amount`; null for anything longer. */
  function placeOf(node: Node): string | null {
    if (node.type === "Identifier") return idOf(node);
    if (node.type !== "MemberExpression" || node["computed"] === true) return null;
    const object = bare(node["object"] as Node);
    return object.type === "Identifier" ? `${idOf(object)}.${(node["property"] as Node)["name"] as string}` : null;
  }

  /** `list.push(x)`: the values that each name gets that way. */
  function pushedIn(): Map<string, Node[]> {
    const found = new Map<string, Node[]>();
    for (const node of body.flatMap((one) => [...within(one)])) {
      if (node.type !== "CallExpression" || !/^(?:push|unshift)$/.test(methodOf(node))) continue;
      const list = bare(bare(node["callee"] as Node)["object"] as Node);
      if (list.type === "Identifier") found.set(idOf(list), [...(found.get(idOf(list)) ?? []), ...(node["arguments"] as Node[])]);
    }
    return found;
  }
}

/** The part of the script in ASSESS, which allows reads and nothing that acts: what a sub-script answers there is read too. */
function assessedIn(calls: readonly Node[]): [from: number, to: number] {
  const enters = calls.filter((one) => calleeOf(one) === "fsm_enter").sort((a, b) => a.start - b.start);
  const stateOf = (one: Node) => literalText(bare((one["arguments"] as Node[])[0] ?? one));
  const first = enters.findIndex((one) => stateOf(one) === "ASSESS");
  return first < 0 ? [0, 0] : [enters[first]?.start ?? 0, enters[first + 1]?.start ?? Number.POSITIVE_INFINITY];
}

const READS = /^(?:mcp_(?:call|record|fetch_all|try)|data_(?:first|read)|config_get|ctx_today)$/;

/** The calls that a call of approval_wait, or of a script that asks, names; null when there are none, or when nobody may change them. */
function callsAskedFor(gate: Node): Node | null {
  if (!["approval_wait", "script_run"].includes(calleeOf(gate))) return null;
  const named = (gate["arguments"] as Node[]).map(bare).filter((one) => one.type === "ObjectExpression");
  const [fixed, calls] = ["fixed", "calls"].map((name) => named.flatMap((one) => valueIn(one, name) ?? [])[0]);
  return fixed?.type === "Literal" && fixed["value"] === true ? null : (calls ?? null);
}

const calleeOfCall = (node: Node): string => (node.type === "CallExpression" ? calleeOf(node) : "");

/** Children that are read, without names that are being declared. */
const valuesIn = (node: Node): Node[] => [...readIn(node)].filter((child) => node.type !== "VariableDeclarator" || child !== node["id"]);
