/**
 * Branches of a script that are taken only on a certain day, or only for one odd value, which a few trials of the script rarely reach.
 * Returned as data; lintHidden (change/checks/read-scripts.ts) judges them, because it knows their calls. Only literal values are seen.
 */
import type { Compiled } from "../kernel/ports.ts";
import type { Names } from "./names.ts";
import { type Node, bare, children, isFunction, leaves, literalText, within } from "./syntax.ts";

export type Guard = NonNullable<Compiled["guards"]>[number];

const DAY = /^\d{4}-\d\d(?:-\d\d)?$|^\d\d-\d\d$/;
// What tells a script the day: its own clock, and common names for values of a clock.
const CLOCK = /^(?:ctx_today|today|now|Date|getDay|getDate|getMonth|getUTCDay|getUTCDate|getUTCMonth|weekday)$/;
const EQUAL = /^[!=]==?$/;
const COMPARES = /^(?:[!=]==?|[<>]=?)$/;
const METHODS = new Set(["eq", "equals", "startsWith", "endsWith", "includes"]);
// No sensible script has more; each is read as far as the script continues after it.
const MOST = 200;

/** In source order. sites: the calls of primitives, by node. */
export function guardsOf(
  body: readonly Node[],
  sites: ReadonlyMap<Node, number>,
  { ids, fixed, given }: Names,
  at: (offset: number) => Guard["at"],
): Guard[] {
  const found: Guard[] = [];
  const functionOf = (id: string): Node | undefined => [fixed.get(id), ...(given.get(id) ?? [])].findLast((one) => one && isFunction(one));
  /** Calls in these nodes, and in the functions they call. */
  const callsIn = (nodes: readonly Node[]): number[] => {
    const calls = new Set<number>();
    const seen = new Set<Node>();
    for (const queue = [...nodes]; queue.length > 0; ) {
      for (const node of within(queue.pop() as Node)) {
        const site = sites.get(node);
        if (site !== undefined) calls.add(site);
        const called = functionOf(ids.get(node) ?? "");
        if (called === undefined || seen.has(called)) continue;
        seen.add(called);
        queue.push(called);
      }
    }
    return [...calls].sort((a, b) => a - b);
  };
  let examined = 0;
  const guard = (place: Node, on: string | null, nodes: readonly (Node | null)[]): void => {
    if (on === null || examined++ >= MOST) return;
    const calls = callsIn(nodes.filter((node) => node !== null));
    if (calls.length > 0) found.push({ at: at(place.start), on, calls });
  };
  /** `rest`: the statements after this one in its list, which an early leave guards too. */
  const look = (node: Node, rest: () => readonly Node[]): void => {
    if (node.type === "IfStatement" || node.type === "ConditionalExpression") {
      const [test, then, otherwise] = [node["test"], node["consequent"], node["alternate"]] as [Node, Node, Node | null];
      const isLeft = node.type === "IfStatement" && leaves([then]);
      guard(test, dependsOn(test, true), [then]);
      guard(test, dependsOn(test, false), [otherwise, ...(isLeft ? rest() : [])]);
    } else if (node.type === "LogicalExpression") {
      const left = node["left"] as Node;
      guard(left, dependsOn(left, node["operator"] === "&&"), [node["right"] as Node]);
    } else if (node.type === "SwitchStatement") {
      for (const one of node["cases"] as Node[]) guard(one, oddValue(one["test"] as Node | null), one["consequent"] as Node[]);
    }
    for (const list of listsOf(node)) lookAll(list);
  };
  const lookAll = (list: readonly Node[]): void => {
    for (const [i, one] of list.entries()) look(one, () => list.slice(i + 1));
  };
  lookAll(body);
  return found;
}

/** What a test depends on when its result is `when`, if that is a day or one odd value; null for everything else. */
function dependsOn(test: Node, when: boolean): string | null {
  for (const node of within(test)) {
    const [left, right] = sidesOf(node);
    if (left === null || right === null) continue;
    const operator = String(node["operator"] ?? "===");
    const day = isDay(left) || isDay(right);
    const clock = tellsTime(left) || tellsTime(right);
    const literal = literalOf(left) !== null || literalOf(right) !== null;
    if (COMPARES.test(operator) && literal && (day || clock)) return "the day of the run, or a day in the data it reads";
    const rare = EQUAL.test(operator) && operator.startsWith("=") === when;
    const odd = rare ? (oddValue(left) ?? oddValue(right)) : null;
    if (odd !== null) return odd;
  }
  return null;
}

/** Both sides of a comparison, written as an operator or as a method. */
function sidesOf(node: Node): [Node | null, Node | null] {
  if (node.type === "BinaryExpression") return [node["left"] as Node, node["right"] as Node];
  const callee = node.type === "CallExpression" ? (node["callee"] as Node) : null;
  if (callee?.type !== "MemberExpression" || !METHODS.has(String((callee["property"] as Node)["name"]))) return [null, null];
  return [callee["object"] as Node, ((node["arguments"] as Node[])[0] ?? null) as Node | null];
}

function literalOf(node: Node): string | null {
  const plain = bare(node);
  return literalText(plain) ?? (plain.type === "Literal" && typeof plain["value"] === "number" ? String(plain["value"]) : null);
}

const isDay = (node: Node): boolean => DAY.test(literalOf(node) ?? "");
const tellsTime = (node: Node): boolean => [...within(node)].some((one) => one.type === "Identifier" && CLOCK.test(one["name"] as string));

/** An amount, an account, an id: a literal with several digits. Words are the states and kinds that every script tests. */
function oddValue(node: Node | null): string | null {
  const text = node === null ? null : literalOf(node);
  if (text === null || !isOdd(text)) return null;
  return `the value ${JSON.stringify(text.slice(0, 60))}`;
}

export const isOdd = (text: string): boolean => (text.match(/\d/g) ?? []).length >= 3 && !/^[1-9]0+$/.test(text);

/** Children; the statements of a block together. */
function listsOf(node: Node): Node[][] {
  return node.type === "BlockStatement" ? [node["body"] as Node[]] : [...children(node)].map((one) => [one]);
}
