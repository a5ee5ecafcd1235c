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

/** Parses as a script (not a module), so that what V8 will take for a comment is one here too. */
export function parseScript(source: string, lang: "ts" | "js"): Parsed {
  const tree = parseSync(`script.${lang}`, source, { lang, sourceType: "script", preserveParens: true, showSemanticErrors: lang === "ts" });
  const errors = tree.errors.map((error) => ({
    message: error.helpMessage ? `${error.message}. ${error.helpMessage}` : error.message,
    start: error.labels[0]?.start,
  }));
  // The tree of a broken script is not asked for.
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
  // A stack of its own: a deep tree must not exhaust ours.
  for (const stack = [node]; stack.length > 0; ) {
    const next = stack.pop() as Node;
    yield next;
    stack.push(...[...children(next)].reverse());
  }
}

/** The text of a literal, or null. */
export function literalText(node: Node | undefined): string | null {
  if (node?.type === "Literal") return typeof node["value"] === "string" ? node["value"] : null;
  if (node?.type !== "TemplateLiteral") return null;
  const [first, ...more] = node["quasis"] as { value: { cooked: string | null } }[];
  return first === undefined || more.length > 0 ? null : first.value.cooked;
}

/** The text an expression always has: a literal in brackets or with a type, or put together from literals. Null for every other. */
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

/** Turns offsets of a wrapped source into places of the source. */
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
