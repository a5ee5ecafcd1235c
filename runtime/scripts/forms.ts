/**
 * Expressions as forms (ports.ts `Survey`): one text for the meaning of an expression, whatever its author named things. Names are
 * distinguished by scope, so two `row`s in one script are two names. Also small questions about a piece of a script.
 */
import { LITERAL, NAME, STEP } from "./form-marks.ts";
import { sameExpression } from "./same-choices.ts";
import { SHOWN, compared, joined, keyIn, listsIn, markElements, markIndex, markSteps, notEqual, number } from "./same-forms.ts";
import type { Names } from "./names.ts";
import { type Node, bare, children, isFunction, literalText, nameOf, within } from "./syntax.ts";

/** `mcp_call`, `Object.fromEntries`, or "". */
export function calleeOf(call: Node): string {
  const callee = bare(call["callee"] as Node);
  if (callee.type === "Identifier") return callee["name"] as string;
  const object = callee.type === "MemberExpression" ? bare(callee["object"] as Node) : null;
  return object?.type === "Identifier" && callee["computed"] !== true ? `${object["name"] as string}.${methodOf(call)}` : "";
}

/** `push` of `list.push(x)`, or "". */
export function methodOf(call: Node): string {
  const callee = bare(call["callee"] as Node);
  return callee.type === "MemberExpression" && callee["computed"] !== true ? ((callee["property"] as Node)["name"] as string) : "";
}

/** True for an expression that is a literal in every case. */
export function isFixed(node: Node, names: Names, depth = 4): boolean {
  const plain = bare(node);
  if (literalText(plain) !== null || plain.type === "Literal") return true;
  if (depth === 0) return false;
  const both = (...keys: string[]) => keys.every((key) => isFixed(plain[key] as Node, names, depth));
  if (plain.type === "ConditionalExpression") return both("consequent", "alternate");
  if (plain.type === "LogicalExpression") return both("right", "left");
  const known = valuesOf(plain, names);
  return known.length > 0 && known.every((one) => isFixed(one, names, depth - 1));
}

/** The text that an expression or a const certainly is, or null. */
export function textIn(node: Node, names: Names): string | null {
  const plain = bare(node);
  const [only, ...others] = valuesOf(plain, names);
  return literalText(plain) ?? (only === undefined || others.length > 0 ? null : literalText(bare(only)));
}

/** The values assigned to an identifier's name. */
const valuesOf = (node: Node, { ids, given }: Names): readonly Node[] => given.get(ids.get(node) ?? "") ?? [];

export function formsOf(body: readonly Node[], names: Names) {
  const { ids } = names;
  // With getters or setters, reading a key may do anything.
  const hasCode = body.some((one) => [...within(one)].some(({ kind }) => kind === "get" || kind === "set"));
  /** The node of each step width with its index among the script's widths: the number itself means nothing. */
  const steps = new Map<Node, number>();
  const uses = new Map<string, number>();
  for (const id of ids.values()) uses.set(id, (uses.get(id) ?? 0) + 1);
  const numbers = new Map<string, Node>();
  const loops: Node[] = [];
  for (const node of body.flatMap((one) => [...within(one)])) {
    if (node.type === "ForStatement") loops.push(node);
    const init = node.type === "VariableDeclarator" ? (node["init"] as Node | null) : null;
    const id = ids.get(node["id"] as Node);
    if (init !== null && number(init) && id !== undefined) numbers.set(id, init);
  }
  for (const loop of loops) markSteps(loop, (node) => numbers.get(ids.get(node) ?? ""), steps);
  // A const used only as a width is a width itself.
  for (const [id, init] of numbers) {
    const taken = [...steps.keys()].filter((node) => ids.get(node) === id).length;
    if (taken > 0 && taken === (uses.get(id) ?? 0) - 1) steps.set(init, init["value"] as number);
  }
  const indexed = new Map<Node, Node>();
  const taken = new Map<Node, Node>();
  for (const loop of loops) markIndex(loop, indexed, taken);
  const elements = new Map<string, Node>();
  for (const statements of listsIn(body)) markElements(statements, names, (id) => uses.get(id) === 2, elements);
  /** The elements of a list, or properties of an object, as written, with those that a const above declares under their own name. */
  const elementsOf = (whole: Node): (Node | null)[] =>
    ((whole["elements"] ?? whole["properties"]) as (Node | null)[]).flatMap((one) => {
      const plain = one && bare(one.type === "SpreadElement" ? (one["argument"] as Node) : one);
      const meant = plain ? elements.get(ids.get(plain) ?? "") : undefined;
      if (meant === undefined) return [one];
      return one?.type === "SpreadElement" ? elementsOf(meant) : [meant];
    });
  const widths = [...new Set(steps.values())];
  for (const [node, width] of steps) steps.set(node, widths.indexOf(width));

  let isExact = false;
  /** The form with all values of objects and elements of lists, in the order that counts; fixed rows are left out. */
  const exact = (node: Node): string => {
    isExact = true;
    const whole = form(node);
    isExact = false;
    return whole;
  };
  /** Keys by name, but a spread stays between the keys that it overwrites and those that overwrite it. */
  const keysOf = (properties: readonly Node[]): string => {
    const parts: string[][] = [[]];
    for (const one of properties) {
      const key = one.type === "Property" ? (nameOf(one) ?? `[${form(one["key"] as Node)}]`) : form(one);
      const isApart = isExact && (one.type !== "Property" || one["computed"] === true);
      if (isApart) parts.push([], []);
      parts
        .at(isApart ? -2 : -1)
        ?.push(isExact && one.type === "Property" && !SHOWN.test(key) ? `${key}:${form(one["value"] as Node)}` : key);
    }
    return parts.flatMap((some) => some.sort()).join();
  };
  const form = (node: Node | null | undefined): string => {
    if (node == null) return "";
    const plain = bare(node);
    const of = (key: string) => form(plain[key] as Node | null);
    const all = (nodes: readonly (Node | null)[]) => nodes.map(form).join();
    const step = steps.get(plain);
    if (step !== undefined) return `${STEP}${step}${STEP}`;
    const index = taken.get(plain);
    if (index !== undefined) return form(index);
    const meant = hasCode ? null : sameExpression(plain, names, form);
    if (meant !== null) return form(meant);
    switch (plain.type) {
      case "Identifier": {
        const id = ids.get(plain);
        return id === undefined ? (plain["name"] as string) : `${NAME}${id}${NAME}`;
      }
      case "Literal": {
        // Only what the survey lists as a literal may be left out of a comparison.
        const mark = ["string", "number", "boolean"].includes(typeof plain["value"]) ? LITERAL : "";
        return `${mark}${plain["regex"] === undefined ? JSON.stringify(plain["value"]) : String(plain["raw"])}${mark}`;
      }
      case "TemplateElement":
        return `${LITERAL}${JSON.stringify((plain["value"] as { cooked: string | null }).cooked)}${LITERAL}`;
      case "UnaryExpression": {
        const opposite = plain["operator"] === "!" ? notEqual(bare(plain["argument"] as Node)) : null;
        if (opposite !== null) return form(opposite);
        const empty = of("argument");
        return `${plain["operator"] === "!" && empty.endsWith(".length") ? "Binaryempty(," : `Unary${String(plain["operator"])}(`}${empty})`;
      }
      case "BinaryExpression":
      case "TemplateLiteral": {
        const parts = joined(plain);
        if (parts !== null) return `text(${all(parts)})`;
        const [left, operator, right] = compared(plain);
        return `Binary${operator}(${left === null ? "" : form(left)},${form(right)})`;
      }
      case "ConditionalExpression": {
        // `!a ? x : y` is `a ? y : x`.
        const test = bare(plain["test"] as Node);
        const turned = test.type === "UnaryExpression" && test["operator"] === "!" ? (test["argument"] as Node) : null;
        const equal = test.type === "BinaryExpression" && /^!==?$/.test(String(test["operator"])) ? notEqual(test) : null;
        const [, filled, list] = test.type === "BinaryExpression" ? compared(test) : [];
        if (filled === "filled" && list) return `Conditional(Binaryempty(,${form(list)}),${of("alternate")},${of("consequent")})`;
        if (turned === null && equal === null) return `Conditional(${of("test")},${of("consequent")},${of("alternate")})`;
        return form({ ...plain, test: turned ?? equal, consequent: plain["alternate"], alternate: plain["consequent"] } as Node);
      }
      case "MemberExpression":
        return `${of("object")}${plain["optional"] === true ? "?" : ""}.${keyIn(plain) ?? `[${of("property")}]`}`;
      case "ChainExpression":
      case "ExpressionStatement":
        return of("expression");
      case "CallExpression":
        return `${of("callee")}${plain["optional"] === true ? "?" : ""}(${(plain["arguments"] as Node[]).map((one) => (isFunction(one) ? handed(one) : form(one))).join()})`;
      case "ObjectExpression":
        // The values are listed one by one, as fields and literals; the order of keys means nothing.
        return `{${keysOf(elementsOf(plain) as Node[])}}`;
      case "ArrayExpression":
        // So are the rows of a table.
        if (isExact)
          return `[${elementsOf(plain)
            .flatMap((one) => (one !== null && isFixedRow(bare(one)) ? [] : [form(one)]))
            .join()}]`;
        return `[${[...new Set(elementsOf(plain).map((one, i) => (one !== null && bare(one).type === "ObjectExpression" ? form(one) : `${i}:${form(one)}`)))].join()}]`;
      case "ArrowFunctionExpression":
      case "FunctionExpression":
      case "FunctionDeclaration":
        return `(${all(plain["params"] as Node[])})=>${form(resultOf(plain) ?? (plain["body"] as Node))}`;
      case "BlockStatement":
        return `{${(plain["body"] as Node[]).flatMap((one) => form(one) || []).join()}}`;
      case "ForStatement":
      case "ForOfStatement":
      case "ForInStatement":
        return `for(${["right", "test", "update", "body"].map(of).join()})`;
      case "VariableDeclaration":
        return ""; // the values of its names are listed with them
      default:
        return `${plain.type.replace(/(?:Expression|Statement)$/, "")}${String(plain["operator"] ?? "")}(${all([...children(plain)])})`;
    }
  };
  /** A function that nothing calls by name: how it destructures its parameters is listed with its names. */
  const handed = (node: Node): string => {
    const params = node["params"] as Node[];
    const defaults = params.flatMap((one) => [...within(one)].filter(({ type }) => type === "AssignmentPattern"));
    return `(${[params.length, ...defaults.map(form)].join()})=>${form(resultOf(node) ?? (node["body"] as Node))}`;
  };
  /** True for a const that is only an element of such a list. */
  const isElement = (init: Node): boolean => [...elements.values()].includes(bare(init));
  /** The list that a loop visits by an index and in no other way, or null. */
  const listOf = (loop: Node): Node | null => indexed.get(loop) ?? null;
  /** True for the width of a step through a list: how many are taken at a time decides nothing. */
  const isStep = (node: Node): boolean => steps.has(bare(node));
  return { form, exact, elements: elementsOf, isElement, listOf, isStep };
}

/** True for an object of literals. */
export const isFixedRow = (row: Node): boolean =>
  row.type === "ObjectExpression" &&
  [...children(row)].every(
    (one) => one.type === "Property" && ((one["value"] as Node).type === "Literal" || literalText(one["value"] as Node) !== null),
  );

/** The one expression that a function returns, or null. */
export function resultOf(node: Node): Node | null {
  const code = node["body"] as Node;
  if (code.type !== "BlockStatement") return code;
  const [only, ...more] = code["body"] as Node[];
  return only?.type === "ReturnStatement" && more.length === 0 ? (only["argument"] as Node | null) : null;
}

/** The part of the script in ASSESS, which allows reads and nothing that acts: what a sub-script answers there is read too. */
export function assessedIn(calls: readonly Node[]): [from: number, to: number] {
  const enters = calls.filter((one) => calleeOf(one) === "fsm_enter").sort((a, b) => a.start - b.start);
  const stateOf = (one: Node) => literalText(bare((one["arguments"] as Node[])[0] ?? one));
  const first = enters.findIndex((one) => stateOf(one) === "ASSESS");
  return first < 0 ? [0, 0] : [enters[first]?.start ?? 0, enters[first + 1]?.start ?? Number.POSITIVE_INFINITY];
}
