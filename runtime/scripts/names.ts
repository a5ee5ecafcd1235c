/**
 * The names of a script: which declaration an identifier means, and which values each name gets. Read once for everything that uses names: the
 * language lint, the flow, planned values, guards and the survey. The id of a name is its text, with a number after it where the script
 * declares it several times.
 */
import { type Node, bare, boundIn, children, isFunction, readIn, rootOf, within } from "./syntax.ts";

export interface Names {
  /** The id of each identifier, including declarations; none for one that the script does not declare. */
  ids: ReadonlyMap<Node, string>;
  /** What a name certainly is: its function, or the value of its const. */
  fixed: ReadonlyMap<string, Node>;
  /** All values a name gets, by declarations and assignments; of a pattern the whole. */
  given: ReadonlyMap<string, readonly Node[]>;
  /** Names that something is assigned to, or into: `pay.tool = x` changes `pay`. */
  changed: ReadonlySet<string>;
  /** Names declared around an identifier, the nearest first. */
  around(identifier: Node): string[];
}

interface Scope {
  names: Map<string, string>;
  parent: Scope | null;
}

const CLOSED = /^(?:BlockStatement|StaticBlock)$/;

/** `Object.assign(x, ...)` changes `x` as `x.y = ...` does. */
export const isAssign = (node: Node): boolean =>
  node.type === "CallExpression" && (bare(node["callee"] as Node)["property"] as Node | undefined)?.["name"] === "assign";

/** `prefix`: start of all ids, to distinguish names of several scripts. */
export function namesOf(body: readonly Node[], prefix = ""): Names {
  const all = body.flatMap((node) => [...within(node)]);
  const ids = new Map<Node, string>();
  const seen = new Map<string, number>();
  const bindings = (node: Node): Node[] =>
    [node["id"], ...(((isFunction(node) && node["params"]) || []) as Node[])].filter(Boolean) as Node[];
  for (const node of all.filter((one) => one.type === "VariableDeclarator" || one.type === "ClassDeclaration" || isFunction(one)))
    for (const { node: bound } of bindings(node).flatMap((one) => [...boundIn(one)])) {
      const name = bound["name"] as string;
      const times = seen.get(name) ?? 0;
      seen.set(name, times + 1);
      ids.set(bound, `${prefix}${name}${times === 0 ? "" : `#${times}`}`);
    }

  const undeclared = new Map<Node, Scope>();
  const lookup = (name: string, scope: Scope | null): string | undefined =>
    scope?.names.get(name) ?? (scope?.parent && lookup(name, scope.parent)) ?? undefined;
  const declare = (pattern: Node, { names }: Scope): void => {
    for (const { node } of boundIn(pattern)) names.set(node["name"] as string, ids.get(node) ?? "");
  };
  /** let, const and functions of one list of statements. */
  const hoist = (list: readonly Node[], scope: Scope): Scope => {
    for (const node of list) {
      if (node.type === "VariableDeclaration" && node["kind"] !== "var")
        for (const one of node["declarations"] as Node[]) declare(one["id"] as Node, scope);
      else if (/^(?:Function|Class)Declaration$/.test(node.type) && node["id"]) declare(node["id"] as Node, scope);
    }
    return scope;
  };
  /** var, which belongs to the function. */
  const hoistVars = (node: Node, scope: Scope): void => {
    if (isFunction(node)) return;
    if (node.type === "VariableDeclaration" && node["kind"] === "var")
      for (const one of node["declarations"] as Node[]) declare(one["id"] as Node, scope);
    for (const child of children(node)) hoistVars(child, scope);
  };
  const scopeIn = (node: Node, parent: Scope): Scope => {
    const inner: Scope = { names: new Map(), parent };
    if (CLOSED.test(node.type)) return hoist(node["body"] as Node[], inner);
    if (node.type === "SwitchStatement")
      return hoist(
        (node["cases"] as Node[]).flatMap((one) => one["consequent"] as Node[]),
        inner,
      );
    if (/^For(?:In|Of)?Statement$/.test(node.type)) return hoist([node["init"] ?? node["left"]].filter(Boolean) as Node[], inner);
    if (!isFunction(node)) return parent;
    if (node.type !== "FunctionDeclaration" && node["id"]) declare(node["id"] as Node, inner);
    for (const param of node["params"] as Node[]) declare(param, inner);
    hoistVars(node["body"] as Node, inner);
    return inner;
  };
  const visit = (node: Node, scope: Scope): void => {
    const id = node.type === "Identifier" && !ids.has(node) ? lookup(node["name"] as string, scope) : undefined;
    if (id !== undefined) ids.set(node, id);
    else if (node.type === "Identifier" && !ids.has(node)) undeclared.set(node, scope);
    const inner = scopeIn(node, scope);
    for (const child of readIn(node)) visit(child, child === node["discriminant"] ? scope : inner);
  };
  const top: Scope = { names: new Map(), parent: null };
  for (const node of body) hoistVars(node, top);
  const main = hoist(body, { names: new Map(), parent: top });
  for (const node of body) visit(node, main);

  const fixed = new Map<string, Node>();
  const given = new Map<string, Node[]>();
  const changed = new Set<string>();
  const give = (pattern: Node, value: Node): void => {
    for (const { node } of boundIn(pattern)) {
      const id = ids.get(node);
      if (id !== undefined) given.set(id, [...(given.get(id) ?? []), value]);
    }
  };
  for (const node of all) {
    if (node.type === "FunctionDeclaration" && node["id"]) fixed.set(ids.get(node["id"] as Node) ?? "", node);
    if (node.type === "VariableDeclaration" && node["kind"] === "const")
      for (const { id, init } of node["declarations"] as unknown as { id: Node; init: Node | null }[])
        if (id.type === "Identifier" && init !== null) fixed.set(ids.get(id) ?? "", bare(init));
    if (node.type === "VariableDeclarator" && node["init"]) give(node["id"] as Node, node["init"] as Node);
    const into = isAssign(node) ? (node["arguments"] as Node[])[0] : undefined;
    if (into === undefined && node.type !== "AssignmentExpression" && node.type !== "UpdateExpression") continue;
    const target = bare((into ?? node["left"] ?? node["argument"]) as Node);
    if (node["right"]) give(target, node["right"] as Node);
    const root = rootOf(target, false);
    for (const one of root === undefined ? [...boundIn(target)].map((bound) => bound.node) : [root]) {
      const id = ids.get(one);
      if (id !== undefined) changed.add(id);
    }
  }
  const around: Names["around"] = (identifier) => {
    const found: string[] = [];
    for (let scope = undeclared.get(identifier) ?? null; scope !== null; scope = scope.parent) found.push(...scope.names.keys());
    return found;
  };
  return { ids, fixed, given, changed, around };
}
