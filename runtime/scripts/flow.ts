/**
 * The order in which a script may make its calls, as a small tree that lint walks (change/checks/states.ts), and the literal texts in its
 * calls. Whatever is not followed exactly is widened: the tree allows every order of the script, never fewer.
 */
import type { Flow, KnownKeys } from "../kernel/ports.ts";
import type { Names } from "./names.ts";
import { type Node, TYPED, bare, children, isFunction, leaves, literalText, nameOf } from "./syntax.ts";

const MAYBE = new Set(["&&=", "||=", "??="]);
const NOTHING: Flow = { all: [] };
const UNKNOWN: KnownKeys = { keys: [], whole: false };

/** sites: the calls of primitives found by the language lint, by node. */
export function flowOf(body: readonly Node[], sites: ReadonlyMap<Node, number>, { ids, fixed, changed }: Names) {
  const functions: Flow[] = [];
  const indices = new Map<Node, number>();
  /** By index of the call: literal texts by key of its parameters; "" is the bare one. */
  const given: Record<string, string>[] = [];
  /** By index of the call: the keys of objects by key of its parameters. */
  const fields: Record<string, KnownKeys>[] = [];

  // Bodies are read one after the other, not recursively: a long chain of functions must not nest deeply.
  const unread: { node: Node; index: number }[] = [];
  const functionAt = (node: Node): number => {
    let index = indices.get(node);
    if (index === undefined) {
      indices.set(node, (index = functions.push(NOTHING) - 1));
      unread.push({ node, index });
    }
    return index;
  };
  const bodyOf = (node: Node): Flow => {
    const code = node["body"] as Node;
    return all([...(node["params"] as Node[]), ...(code.type === "BlockStatement" ? (code["body"] as Node[]) : [code])].map(walk));
  };
  /** The function that an expression certainly is, or null. */
  const asFunction = (node: Node): number | null => {
    const plain = bare(node);
    const meant = isFunction(plain) ? plain : fixed.get(ids.get(plain) ?? "");
    return meant !== undefined && isFunction(meant) ? functionAt(meant) : null;
  };
  /** A const that nothing is assigned into is replaced by its value. */
  const resolve = (node: Node | undefined): Node | undefined => {
    const plain = node && bare(node);
    const id = plain && ids.get(plain);
    if (plain?.type !== "Identifier") return plain;
    return id === undefined || changed.has(id) ? undefined : fixed.get(id);
  };
  const shapes = new Map<Node, KnownKeys>();
  const shapeOf = (node: Node | undefined): KnownKeys => {
    const plain = resolve(node);
    const known = plain && shapes.get(plain);
    if (plain === undefined || known !== undefined) return known ?? UNKNOWN;
    // Until it is known, for one that contains itself.
    shapes.set(plain, UNKNOWN);
    const parts =
      plain.type === "ConditionalExpression"
        ? [shapeOf(plain["consequent"] as Node), shapeOf(plain["alternate"] as Node)]
        : plain.type !== "ObjectExpression"
          ? [UNKNOWN]
          : (plain["properties"] as Node[]).map((one): KnownKeys => {
              const name = one["computed"] === true ? null : nameOf(one);
              if (one.type === "SpreadElement") return shapeOf(one["argument"] as Node);
              return name === null ? UNKNOWN : { keys: [name], whole: true };
            });
    const shape = { keys: [...new Set(parts.flatMap(({ keys }) => keys))], whole: parts.every(({ whole }) => whole) };
    shapes.set(plain, shape);
    return shape;
  };
  const literals = (args: readonly Node[], shaped: Record<string, KnownKeys>): Record<string, string> => {
    const texts: Record<string, string> = {};
    const first = resolve(args[0]);
    const only = literalText(first);
    if (only !== null) texts[""] = only;
    if (first?.type !== "ObjectExpression") return texts;
    for (const property of first["properties"] as Node[]) {
      if (property.type !== "Property" || property["computed"] === true) return {};
      const text = literalText(resolve(property["value"] as Node));
      if (text !== null) texts[nameOf(property) ?? ""] = text;
      const shape = shapeOf(property["value"] as Node);
      if (shape.whole || shape.keys.length > 0) shaped[nameOf(property) ?? ""] = shape;
    }
    return texts;
  };

  const list = (nodes: readonly Node[]): Flow => all(nodes.map(walk));
  const each = (node: Node): Flow => list([...children(node)]);
  const field = (node: Node, name: string): Flow => (node[name] ? walk(node[name] as Node) : NOTHING);

  const call = (node: Node): Flow => {
    const callee = node["callee"] as Node;
    const args = node["arguments"] as Node[];
    const own = asFunction(callee);
    const site = sites.get(node);
    if (site !== undefined) given[site] = literals(args, (fields[site] = {}));
    // list.map(f) makes its calls now; when any other function calls f is unknown.
    const method = bare(callee).type === "MemberExpression";
    const parts: Flow[] = own === null ? [walk(callee)] : [];
    const handed: Flow[] = [];
    for (const arg of args) {
      const index = asFunction(arg);
      if (index === null) parts.push(walk(arg));
      else handed.push(method ? { loop: { run: index } } : { later: index });
    }
    return all([...parts, ...handed, own === null ? NOTHING : { run: own }, site ?? NOTHING]);
  };
  const cases = (node: Node): Flow => {
    const branches = node["cases"] as Node[];
    const bodies = branches.map((one) => list(one["consequent"] as Node[]));
    const tests = all(branches.map((one) => field(one, "test")));
    const falls = branches.slice(0, -1).some((one) => (one["consequent"] as Node[]).length > 0 && !leaves(one["consequent"] as Node[]));
    const chosen = one([...bodies, NOTHING]);
    return all([field(node, "discriminant"), tests, falls ? { loop: chosen } : { loop: chosen, once: true }]);
  };

  const walk = (node: Node): Flow => {
    switch (node.type) {
      case "BlockStatement":
        return list(node["body"] as Node[]);
      case "FunctionDeclaration":
      case "BreakStatement":
      case "ContinueStatement":
        return node.type === "FunctionDeclaration" ? NOTHING : { go: "stop" };
      case "ReturnStatement":
        return all([field(node, "argument"), { go: "return" }]);
      case "ThrowStatement":
        return all([field(node, "argument"), { go: "end" }]);
      case "FunctionExpression":
      case "ArrowFunctionExpression":
      case "Identifier": {
        const index = asFunction(node);
        return index === null ? NOTHING : { later: index };
      }
      case "VariableDeclarator": {
        const init = node["init"] as Node | null;
        const id = node["id"] as Node;
        if (init === null || (isFunction(bare(init)) && id.type === "Identifier" && fixed.has(ids.get(id) ?? ""))) return NOTHING;
        return all([walk(init), id.type === "Identifier" ? NOTHING : walk(id)]);
      }
      case "CallExpression":
        return call(node);
      case "ChainExpression":
        return one([walk(node["expression"] as Node), NOTHING]);
      case "MemberExpression":
        return all([field(node, "object"), node["computed"] === true ? field(node, "property") : NOTHING]);
      case "Property":
        return all([node["computed"] === true ? field(node, "key") : NOTHING, field(node, "value")]);
      case "AssignmentPattern":
        return one([field(node, "right"), NOTHING]);
      case "AssignmentExpression": {
        const right = field(node, "right");
        return all([field(node, "left"), MAYBE.has(node["operator"] as string) ? one([right, NOTHING]) : right]);
      }
      case "LogicalExpression":
        return all([field(node, "left"), one([field(node, "right"), NOTHING])]);
      case "IfStatement":
      case "ConditionalExpression":
        return all([field(node, "test"), one([field(node, "consequent"), field(node, "alternate")])]);
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement": {
        const turn = all(["test", "body", "update"].map((name) => field(node, name)));
        return all([field(node, "init"), field(node, "right"), loop(turn)]);
      }
      case "WhileStatement":
      case "DoWhileStatement":
        return loop(all([field(node, "test"), field(node, "body")]));
      case "LabeledStatement":
        return field(node, "body");
      case "SwitchStatement":
        return cases(node);
      default:
        return node.type.startsWith("TS") && !TYPED.has(node.type) && node.type !== "TSInstantiationExpression" ? NOTHING : each(node);
    }
  };

  const main = list(body);
  for (let next = unread.pop(); next !== undefined; next = unread.pop()) functions[next.index] = bodyOf(next.node);
  // A call in a type, or in a place that is not followed, has no literals.
  for (const site of sites.values()) given[site] ??= {};
  return { main, functions, given, fields };
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

const loop = (turn: Flow): Flow => (isNothing(turn) ? NOTHING : { loop: turn });

const isNothing = (flow: Flow): boolean => typeof flow === "object" && "all" in flow && flow.all.length === 0;
