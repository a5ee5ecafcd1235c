/** The only file that imports oxc-parser: source to generic nodes, their children in source order, and places as line and column. */
import { parseSync, visitorKeys } from "oxc-parser";
import type { At } from "../kernel/errors.ts";

export interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

export interface Parsed {
  body: Node[];
  comments: readonly { type: string; start: number }[];
  errors: { message: string; start: number | undefined }[];
}

/** Parses as a script (not a module), so that comments are the same as for V8. */
export function parseScript(source: string, lang: "ts" | "js"): Parsed {
  const tree = parseSync(`script.${lang}`, source, { lang, sourceType: "script", preserveParens: true, showSemanticErrors: lang === "ts" });
  const errors = tree.errors.map((error) => ({
    message: error.helpMessage ? `${error.message}. ${error.helpMessage}` : error.message,
    start: error.labels[0]?.start,
  }));
  // Nobody needs the tree of a broken script.
  return { body: errors.length > 0 ? [] : (tree.program.body as unknown as Node[]), comments: tree.comments, errors };
}

const keysOf = visitorKeys as Record<string, readonly string[] | undefined>;

export function* children(node: Node): Generator<Node> {
  for (const key of keysOf[node.type] ?? []) {
    const value = node[key];
    if (Array.isArray(value)) {
      for (const one of value as (Node | null)[]) if (one !== null) yield one;
    } else if (typeof value === "object" && value !== null) yield value as Node;
  }
}

/** A node and all below it, in the order of the text. */
export function* within(node: Node): Generator<Node> {
  // An explicit stack: a deep tree must not exhaust the call stack.
  for (const stack = [node]; stack.length > 0; ) {
    const next = stack.pop() as Node;
    yield next;
    stack.push(...[...children(next)].reverse());
  }
}

/** Nodes around an expression that do not change its value. */
export const TYPED = new Set("TSAsExpression TSSatisfiesExpression TSNonNullExpression ParenthesizedExpression AwaitExpression".split(" "));

/** Without parentheses, types and `await`. */
export const bare = (node: Node): Node => (TYPED.has(node.type) ? bare((node["expression"] ?? node["argument"]) as Node) : node);

/** True for a function's declaration or expression. */
export function isFunction(node: Node): boolean {
  return node.type === "FunctionDeclaration" || node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression";
}

/** Children that are read or bound: not keys of objects, names after a dot, or labels. */
export function* readIn(node: Node): Generator<Node> {
  for (const child of children(node)) {
    const isName = child === node["label"] || (child === node["property"] && node.type === "MemberExpression") || child === node["key"];
    if (!isName || node["computed"] === true || child === node["value"]) yield child;
  }
}

/** Children that are read, without names that are being declared. */
export const valuesIn = (node: Node): Node[] => {
  const declared = isFunction(node) ? (node["params"] as Node[]) : node.type === "VariableDeclarator" ? [node["id"]] : [];
  return [...readIn(node)].filter((child) => !declared.includes(child));
};

/** Operators whose answer is a boolean or a type. */
export const ANSWERS = /^(?:[=!]==?|[<>]=?|!|typeof|in|instanceof)$/;

/** True when the code after these statements is never reached through them. */
export function leaves(statements: readonly Node[]): boolean {
  const last = statements.at(-1);
  if (last?.type === "BlockStatement") return leaves(last["body"] as Node[]);
  return last !== undefined && /^(?:Break|Continue|Return|Throw)Statement$/.test(last.type);
}

/** The text of a literal, or null. */
export function literalText(node: Node | undefined): string | null {
  if (node?.type === "Literal") return typeof node["value"] === "string" ? node["value"] : null;
  if (node?.type !== "TemplateLiteral") return null;
  const [first, ...more] = node["quasis"] as { value: { cooked: string | null } }[];
  return first === undefined || more.length > 0 ? null : first.value.cooked;
}

/** The name of a property; null when it is computed. */
export function nameOf(node: Node): string | null {
  if (node.type !== "Property") return null;
  const key = node["key"] as Node;
  if (node["computed"] === true) return literalText(key);
  return key.type === "Identifier" ? (key["name"] as string) : String(key["value"]);
}

/** The value of an object literal under a literal key, or undefined. */
export const valueIn = (object: Node, name: string): Node | undefined =>
  (object["properties"] as Node[]).findLast((one) => nameOf(one) === name)?.["value"] as Node | undefined;

/** The name that `a.b[c]` is a part of; with `calls` also that of `a.filter(f)[0]`. */
export function rootOf(node: Node, calls: boolean): Node | undefined {
  const plain = bare(node);
  if (plain.type === "Identifier") return plain;
  if (plain.type === "ChainExpression") return rootOf(plain["expression"] as Node, calls);
  if (plain.type === "MemberExpression") return rootOf(plain["object"] as Node, calls);
  return calls && plain.type === "CallExpression" ? rootOf(plain["callee"] as Node, calls) : undefined;
}

/** Names bound by a pattern, each with its path from the value: of `{ a, b: [c] }` a by `.a` and c by `.b.0`. */
export function* boundIn(pattern: Node, way = ""): Generator<{ node: Node; way: string; without?: string }> {
  if (pattern.type === "Identifier") yield { node: pattern, way };
  else if (pattern.type === "AssignmentPattern") yield* boundIn(pattern["left"] as Node, way);
  else if (pattern.type === "RestElement") yield* boundIn(pattern["argument"] as Node, `${way}...`);
  else if (pattern.type === "ObjectPattern")
    for (const one of pattern["properties"] as Node[])
      if (one.type === "Property") yield* boundIn(one["value"] as Node, `${way}.${nameOf(one) ?? ""}`);
      else for (const rest of boundIn(one, way)) yield { ...rest, without: withoutIn(pattern) };
  else if (pattern.type === "ArrayPattern")
    for (const [i, one] of (pattern["elements"] as (Node | null)[]).entries()) if (one !== null) yield* boundIn(one, `${way}.${i}`);
}

/** Keys that the rest of a pattern does not have. */
const withoutIn = (pattern: Node): string =>
  ` without ${(pattern["properties"] as Node[])
    .flatMap((one) => nameOf(one) ?? [])
    .sort()
    .join(", ")}`;

/** The constant text of an expression: a literal in brackets or with a type, or joined literals. Null for every other expression. */
export function constantText(node: Node | undefined): string | null {
  switch (node?.type) {
    case "ParenthesizedExpression":
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSNonNullExpression":
      return constantText(node["expression"] as Node);
    case "SequenceExpression":
      return constantText((node["expressions"] as Node[]).at(-1));
    case "BinaryExpression": {
      const [left, right] = [node["left"], node["right"]].map((side) => constantText(side as Node));
      return node["operator"] === "+" && typeof left === "string" && typeof right === "string" ? left + right : null;
    }
    case "TemplateLiteral": {
      const texts = (node["expressions"] as Node[]).map(constantText);
      const quasis = (node["quasis"] as { value: { cooked: string | null } }[]).map(({ value }) => value.cooked ?? "");
      return texts.includes(null) ? null : quasis.map((quasi, i) => quasi + (texts[i] ?? "")).join("");
    }
    default:
      return literalText(node);
  }
}

/** Converts offsets of a wrapped source to places in the source. */
export function createPlaces(wrapped: string, prefix: number, file: string): (offset: number) => At {
  const starts = [prefix];
  for (const match of wrapped.matchAll(/\r\n|[\n\r\u2028\u2029]/g)) starts.push(match.index + match[0].length);
  return (offset) => {
    let low = 0;
    for (let high = starts.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { file, line: low + 1, col: Math.max(1, offset - (starts[low] ?? 0) + 1) };
  };
}
