/** What a piece of a script mentions: names, literals, ways out of it; and what each name of a script is given anywhere. */
import { bare, isFunction } from "./flow.ts";
import { type Node, children, literalText } from "./syntax.ts";

const EXITS = new Set(["ReturnStatement", "BreakStatement", "ContinueStatement", "ThrowStatement"]);

/** The name of a property; null when it is computed. */
export function nameOf(node: Node): string | null {
  if (node.type !== "Property") return null;
  const key = node["key"] as Node;
  if (node["computed"] === true) return literalText(key);
  return key.type === "Identifier" ? (key["name"] as string) : String(key["value"]);
}

/** True when a statement can leave the list it stands in. */
export function leaves(node: Node): boolean {
  if (EXITS.has(node.type)) return true;
  return !isFunction(node) && [...children(node)].some(leaves);
}

/** Names an expression mentions, without those behind a dot and the keys of objects. */
export function* namesIn(node: Node): Generator<string> {
  if (node.type === "Identifier") yield node["name"] as string;
  for (const child of children(node)) {
    const silent = (node.type === "MemberExpression" && child === node["property"]) || (node.type === "Property" && child === node["key"]);
    if (!silent || node["computed"] === true) yield* namesIn(child);
  }
}

/** Literals an expression holds, as text. */
export function* literalsIn(node: Node): Generator<string> {
  if (node.type === "Literal") yield String(node["value"]);
  for (const child of children(node)) yield* literalsIn(child);
}

/** What each name is given anywhere: values of its declarations and assignments, and functions. */
export function collectGiven(node: Node, values: Map<string, Node[]>): void {
  const add = (target: Node, value: Node): void => {
    if (target.type === "Identifier") values.set(target["name"] as string, [...(values.get(target["name"] as string) ?? []), value]);
    else if (target.type === "Property") add(target["value"] as Node, value);
    else if (target.type === "AssignmentPattern") add(target["left"] as Node, value);
    else if (target.type !== "MemberExpression") for (const child of children(target)) add(child, value);
  };
  if (node.type === "VariableDeclarator" && node["init"]) add(node["id"] as Node, node["init"] as Node);
  if (node.type === "AssignmentExpression") add(bare(node["left"] as Node), node["right"] as Node);
  if (node.type === "FunctionDeclaration" && node["id"]) add(node["id"] as Node, node["body"] as Node);
  for (const child of children(node)) collectGiven(child, values);
}

/** `mcp_call`, `Object.fromEntries`, or "". */
export function calleeOf(call: Node): string {
  const callee = bare(call["callee"] as Node);
  if (callee.type === "Identifier") return callee["name"] as string;
  if (callee.type !== "MemberExpression" || callee["computed"] === true) return "";
  const object = bare(callee["object"] as Node);
  return object.type === "Identifier" ? `${object["name"] as string}.${(callee["property"] as Node)["name"] as string}` : "";
}
