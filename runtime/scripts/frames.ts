/** The names of a script that is followed (follow.ts): what each has in the call of a function in which it is read, and how patterns give it. */
import type { Names } from "./names.ts";
import { type Node, bare, nameOf } from "./syntax.ts";
import type { Frame, Value, Values } from "./values.ts";

type Give = (target: Node, value: Value) => void;

export function framesOf(
  { ids, changed }: Names,
  values: Values,
  input: Value,
  evaluate: (node: Node) => Value,
  resolve: (node: Node) => Value,
) {
  const { fresh, literal, join, put, field, set, without, after } = values;
  let frame: Frame = { vars: new Map(), up: null };

  /** In the names of another call. */
  function within<T>(other: Frame, look: () => T): T {
    const before = frame;
    frame = other;
    const found = look();
    frame = before;
    return found;
  }

  function named(name: Node): Value {
    const id = ids.get(name);
    if (id === undefined) return name["name"] === "input" ? input : literal(String(name["name"]));
    return frameOf(id).vars.get(id) ?? fresh("answer");
  }

  function frameOf(id: string): Frame {
    let at = frame;
    while (!at.vars.has(id) && at.up !== null) at = at.up;
    return at;
  }

  /** The key of a member or property; null when it is not known. */
  function keyOf(one: Node): string | null {
    if (one["computed"] === true) return evaluate((one["property"] ?? one["key"]) as Node).text ?? null;
    return one.type === "Property" ? nameOf(one) : ((one["property"] as Node)["name"] as string);
  }

  function assign(target: Node, value: Value): void {
    const id = ids.get(target) ?? "";
    if (target.type === "MemberExpression") set(resolve(target["object"] as Node), keyOf(target), value);
    else if (target.type === "Identifier") put(frameOf(id).vars, id, value);
    else bind(target, value, assign);
  }

  function declare(name: Node, value: Value): void {
    const id = ids.get(name) ?? "";
    // A counter has any value.
    put(frame.vars, id, /^\d/.test(value.text ?? "") && changed.has(id) ? literal() : value);
  }

  function bind(pattern: Node, value: Value, to: Give = declare): void {
    if (pattern.type === "AssignmentPattern") bind(pattern["left"] as Node, join(value, evaluate(pattern["right"] as Node)), to);
    else if (pattern.type === "ObjectPattern") {
      const names: string[] = [];
      for (const one of pattern["properties"] as Node[]) {
        const name = one.type === "RestElement" ? null : keyOf(one);
        if (name !== null) names.push(name);
        if (one.type === "RestElement") bind(one["argument"] as Node, without(value, names), to);
        else bind(one["value"] as Node, field(value, name), to);
      }
    } else if (pattern.type === "ArrayPattern") bindAll(pattern["elements"] as (Node | null)[], value, to);
    else to(bare(pattern), value);
  }

  function bindAll(patterns: readonly (Node | null)[], list: Value, to: Give = declare): void {
    for (const [i, one] of patterns.entries())
      if (one?.type === "RestElement") bind(one["argument"] as Node, after(list, i), to);
      else if (one !== null) bind(one, field(list, `${i}`), to);
  }

  return { named, keyOf, assign, declare, bind, bindAll, within, current: () => frame };
}
