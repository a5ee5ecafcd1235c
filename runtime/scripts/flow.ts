/**
 * The order in which a script may make its calls, as a small tree that lint walks (change/checks/states.ts), and the literal texts its calls are
 * given. Whatever is not followed exactly is widened: the tree allows every order the script has, never fewer.
 */
import type { Flow } from "../kernel/ports.ts";
import { type Node, children, literalText } from "./syntax.ts";

/** What a name stands for: the node of its const or function, and where that was written. Null for what may change. */
type Names = Map<string, { node: Node; scope: Scope } | null>;
interface Scope {
  names: Names;
  parent: Scope | null;
}

export interface FoundFlow {
  main: Flow;
  functions: Flow[];
  /** By index of the call: literal texts by key of its parameters; "" is the bare one. */
  given: Record<string, string>[];
}

/** What stands around an expression and changes nothing of it. */
export const TYPED = new Set([
  "TSAsExpression",
  "TSSatisfiesExpression",
  "TSNonNullExpression",
  "ParenthesizedExpression",
  "AwaitExpression",
]);
const MAYBE = new Set(["&&=", "||=", "??="]);
const NOTHING: Flow = { all: [] };

/** sites: the calls of primitives found by the language lint, by node. */
export function flowOf(body: readonly Node[], sites: ReadonlyMap<Node, number>): FoundFlow {
  const functions: Flow[] = [];
  const indices = new Map<Node, number>();
  const given: Record<string, string>[] = [];
  const changed = new Set<string>();
  for (const node of body) collectChanged(node, changed);

  // Bodies are read one after the other, not inside each other: a long chain of functions is not a deep one.
  const unread: { node: Node; scope: Scope; index: number }[] = [];
  const functionAt = (node: Node, scope: Scope): number => {
    let index = indices.get(node);
    if (index === undefined) {
      indices.set(node, (index = functions.push(NOTHING) - 1));
      unread.push({ node, scope, index });
    }
    return index;
  };
  const bodyOf = (node: Node, scope: Scope): Flow => {
    const inner: Scope = { names: new Map(), parent: scope };
    const params = node["params"] as Node[];
    for (const param of params) bindNothing(param, inner.names);
    const code = node["body"] as Node;
    const rest = code.type === "BlockStatement" ? list(code["body"] as Node[], inner) : walk(code, inner);
    return all([...params.map((param) => walk(param, inner)), rest]);
  };
  /** The function an expression certainly is, or null. */
  const asFunction = (node: Node, scope: Scope): number | null => {
    const plain = bare(node);
    if (isFunction(plain)) return functionAt(plain, scope);
    const bound = plain.type === "Identifier" ? lookup(plain["name"] as string, scope) : null;
    return bound !== null && isFunction(bound.node) ? functionAt(bound.node, bound.scope) : null;
  };
  /** A const that nothing is assigned into stands for what it was given. */
  const resolve = (node: Node | undefined, scope: Scope): { node: Node; scope: Scope } | null => {
    if (node === undefined) return null;
    const plain = bare(node);
    if (plain.type !== "Identifier") return { node: plain, scope };
    const name = plain["name"] as string;
    return changed.has(name) ? null : lookup(name, scope);
  };
  const textOf = (node: Node | undefined, scope: Scope): string | null => {
    return literalText(resolve(node, scope)?.node);
  };
  const literals = (args: readonly Node[], scope: Scope): Record<string, string> => {
    const texts: Record<string, string> = {};
    const first = resolve(args[0], scope);
    const only = literalText(first?.node);
    if (only !== null) texts[""] = only;
    if (first?.node.type !== "ObjectExpression") return texts;
    for (const property of first.node["properties"] as Node[]) {
      if (property.type !== "Property" || property["computed"] === true) return {};
      const key = property["key"] as Node;
      const text = textOf(property["value"] as Node, first.scope);
      if (text !== null) texts[key.type === "Identifier" ? (key["name"] as string) : String(key["value"])] = text;
    }
    return texts;
  };

  const list = (nodes: readonly Node[], scope: Scope | null): Flow => {
    const inner: Scope = { names: new Map(), parent: scope };
    for (const node of nodes) declare(node, inner);
    return all(nodes.map((node) => walk(node, inner)));
  };
  const each = (node: Node, scope: Scope): Flow => all([...children(node)].map((child) => walk(child, scope)));
  const field = (node: Node, name: string, scope: Scope): Flow => (node[name] ? walk(node[name] as Node, scope) : NOTHING);

  const call = (node: Node, scope: Scope): Flow => {
    const callee = node["callee"] as Node;
    const args = node["arguments"] as Node[];
    const own = asFunction(callee, scope);
    const site = sites.get(node);
    if (site !== undefined) given[site] = literals(args, scope);
    // list.map(f) makes its calls now; what any other function does with f is not known.
    const method = bare(callee).type === "MemberExpression";
    const parts: Flow[] = own === null ? [walk(callee, scope)] : [];
    const handed: Flow[] = [];
    for (const arg of args) {
      const index = asFunction(arg, scope);
      if (index === null) parts.push(walk(arg, scope));
      else handed.push(method ? { loop: { run: index } } : { later: index });
    }
    return all([...parts, ...handed, own === null ? NOTHING : { run: own }, site ?? NOTHING]);
  };
  const cases = (node: Node, scope: Scope): Flow => {
    const inner: Scope = { names: new Map(), parent: scope };
    const branches = node["cases"] as Node[];
    for (const one of branches) for (const statement of one["consequent"] as Node[]) declare(statement, inner);
    const bodies = branches.map((one) => all((one["consequent"] as Node[]).map((statement) => walk(statement, inner))));
    const tests = all(branches.map((one) => field(one, "test", inner)));
    const falls = branches.slice(0, -1).some((one) => (one["consequent"] as Node[]).length > 0 && !leaves(one["consequent"] as Node[]));
    const chosen = one([...bodies, NOTHING]);
    return all([field(node, "discriminant", scope), tests, falls ? { loop: chosen } : { loop: chosen, once: true }]);
  };

  const walk = (node: Node, scope: Scope): Flow => {
    switch (node.type) {
      case "BlockStatement":
        return list(node["body"] as Node[], scope);
      case "FunctionDeclaration":
      case "BreakStatement":
      case "ContinueStatement":
        return node.type === "FunctionDeclaration" ? NOTHING : { go: "stop" };
      case "ReturnStatement":
        return all([field(node, "argument", scope), { go: "return" }]);
      case "ThrowStatement":
        return all([field(node, "argument", scope), { go: "end" }]);
      case "FunctionExpression":
      case "ArrowFunctionExpression":
      case "Identifier": {
        const index = asFunction(node, scope);
        return index === null ? NOTHING : { later: index };
      }
      case "VariableDeclarator": {
        const init = node["init"] as Node | null;
        const id = node["id"] as Node;
        if (init === null || (isFunction(bare(init)) && id.type === "Identifier" && lookup(id["name"] as string, scope) !== null))
          return NOTHING;
        return all([walk(init, scope), id.type === "Identifier" ? NOTHING : walk(id, scope)]);
      }
      case "CallExpression":
        return call(node, scope);
      case "ChainExpression":
        return one([walk(node["expression"] as Node, scope), NOTHING]);
      case "MemberExpression":
        return all([field(node, "object", scope), node["computed"] === true ? field(node, "property", scope) : NOTHING]);
      case "Property":
        return all([node["computed"] === true ? field(node, "key", scope) : NOTHING, field(node, "value", scope)]);
      case "AssignmentPattern":
        return one([field(node, "right", scope), NOTHING]);
      case "AssignmentExpression": {
        const right = field(node, "right", scope);
        return all([field(node, "left", scope), MAYBE.has(node["operator"] as string) ? one([right, NOTHING]) : right]);
      }
      case "LogicalExpression":
        return all([field(node, "left", scope), one([field(node, "right", scope), NOTHING])]);
      case "IfStatement":
      case "ConditionalExpression":
        return all([field(node, "test", scope), one([field(node, "consequent", scope), field(node, "alternate", scope)])]);
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement": {
        const inner: Scope = { names: new Map(), parent: scope };
        const head = (node["init"] ?? node["left"]) as Node | null;
        if (head?.type === "VariableDeclaration") declare(head, inner, node.type === "ForStatement");
        const turn = all(["test", "body", "update"].map((name) => field(node, name, inner)));
        return all([field(node, "init", inner), field(node, "right", scope), loop(turn)]);
      }
      case "WhileStatement":
      case "DoWhileStatement":
        return loop(all([field(node, "test", scope), field(node, "body", scope)]));
      case "LabeledStatement":
        return field(node, "body", scope);
      case "SwitchStatement":
        return cases(node, scope);
      default:
        return node.type.startsWith("TS") && !TYPED.has(node.type) && node.type !== "TSInstantiationExpression"
          ? NOTHING
          : each(node, scope);
    }
  };

  const main = list(body, null);
  for (let next = unread.pop(); next !== undefined; next = unread.pop()) functions[next.index] = bodyOf(next.node, next.scope);
  // A call in a type or in a place that is not followed has no literals.
  for (const site of sites.values()) given[site] ??= {};
  return { main, functions, given };
}

function all(parts: readonly Flow[]): Flow {
  const kept = parts.flatMap((part) => (typeof part === "object" && "all" in part ? part.all : [part]));
  return kept.length === 1 ? (kept[0] ?? NOTHING) : { all: kept };
}

function one(parts: readonly Flow[]): Flow {
  const kept = parts.flatMap((part) => (typeof part === "object" && "one" in part ? part.one : [part]));
  return kept.every(isNothing)
    ? NOTHING
    : { one: [...kept.filter((part) => !isNothing(part)), ...(kept.some(isNothing) ? [NOTHING] : [])] };
}

function loop(turn: Flow): Flow {
  return isNothing(turn) ? NOTHING : { loop: turn };
}

function isNothing(flow: Flow): boolean {
  return typeof flow === "object" && "all" in flow && flow.all.length === 0;
}

/** True for a function's declaration or expression. */
export function isFunction(node: Node): boolean {
  return node.type === "FunctionDeclaration" || node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression";
}

/** Without parentheses, types and `await`. */
export function bare(node: Node): Node {
  return TYPED.has(node.type) ? bare((node["expression"] ?? node["argument"]) as Node) : node;
}

function lookup(name: string, scope: Scope | null): { node: Node; scope: Scope } | null {
  for (let at = scope; at !== null; at = at.parent) {
    const found = at.names.get(name);
    if (found !== undefined) return found;
  }
  return null;
}

/** fixed: false for the variable of for-of, which is another thing each time. */
function declare(node: Node, scope: Scope, fixed = true): void {
  if (node.type === "FunctionDeclaration" && node["id"]) scope.names.set((node["id"] as Node)["name"] as string, { node, scope });
  if (node.type !== "VariableDeclaration") return;
  for (const { id, init } of node["declarations"] as unknown as { id: Node; init: Node | null }[]) {
    if (id.type === "Identifier" && node["kind"] === "const" && fixed && init !== null)
      scope.names.set(id["name"] as string, { node: bare(init), scope });
    else bindNothing(id, scope.names);
  }
}

function bindNothing(pattern: Node, names: Names): void {
  if (pattern.type === "Identifier") names.set(pattern["name"] as string, null);
  else if (pattern.type === "Property") bindNothing(pattern["value"] as Node, names);
  else if (pattern.type === "AssignmentPattern") bindNothing(pattern["left"] as Node, names);
  else for (const child of children(pattern)) bindNothing(child, names);
}

/** Names something is assigned to, or into: `pay.tool = x` makes `pay` no literal. */
function collectChanged(node: Node, names: Set<string>): void {
  let target = (
    node.type === "AssignmentExpression" ? node["left"] : node.type === "UpdateExpression" ? node["argument"] : null
  ) as Node | null;
  while (target?.type === "MemberExpression") target = bare(target["object"] as Node);
  if (target?.type === "Identifier") names.add(target["name"] as string);
  for (const child of children(node)) collectChanged(child, names);
}

/** True when a case never falls into the next. */
function leaves(statements: readonly Node[]): boolean {
  const last = statements.at(-1);
  if (last?.type === "BlockStatement") return leaves(last["body"] as Node[]);
  return last !== undefined && /^(?:Break|Continue|Return|Throw)Statement$/.test(last.type);
}
