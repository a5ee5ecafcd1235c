/**
 * Expressions as forms (ports.ts `Survey`): one text for what an expression says, whatever its author called things. Names are told apart
 * by scope, so two `row`s in one script are two names. Also small questions about a piece of a script.
 */
import { bare, isFunction } from "./flow.ts";
import { LITERAL, NAME, STEP } from "./form-marks.ts";
import { SHOWN, compared, joined, keyIn, listsIn, markElements, markIndex, markSteps, notEqual, number } from "./same-forms.ts";
import { type Node, children, literalText, within } from "./syntax.ts";

/** Name to id, by scope. */
export type Scope = ReadonlyMap<string, string>;

/** The name of a property; null when it is computed. */
export function nameOf(node: Node): string | null {
  if (node.type !== "Property") return null;
  const key = node["key"] as Node;
  if (node["computed"] === true) return literalText(key);
  return key.type === "Identifier" ? (key["name"] as string) : String(key["value"]);
}

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

/** The name that `a.b[c]` is a part of; with `calls` also that of `a.filter(f)[0]`. */
export function rootOf(node: Node, calls: boolean): Node | undefined {
  const plain = bare(node);
  if (plain.type === "Identifier") return plain;
  if (plain.type === "ChainExpression") return rootOf(plain["expression"] as Node, calls);
  if (plain.type === "MemberExpression") return rootOf(plain["object"] as Node, calls);
  return calls && plain.type === "CallExpression" ? rootOf(plain["callee"] as Node, calls) : undefined;
}

/** Names a pattern binds, each with the way to it from the value: of `{ a, b: [c] }` a by `.a` and c by `.b.0`. */
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

/** Values that a name has been given. */
type ValuesOf = (name: string) => readonly Node[];

/** True for an expression that is a literal in every case. */
export function isFixed(node: Node, valuesOf: ValuesOf, depth = 4): boolean {
  const plain = bare(node);
  if (literalText(plain) !== null || plain.type === "Literal") return true;
  if (depth === 0) return false;
  const both = (...keys: string[]) => keys.every((key) => isFixed(plain[key] as Node, valuesOf, depth));
  if (plain.type === "ConditionalExpression") return both("consequent", "alternate");
  if (plain.type === "LogicalExpression") return both("right", "left");
  const known = plain.type === "Identifier" ? valuesOf(plain["name"] as string) : [];
  return known.length > 0 && known.every((one) => isFixed(one, valuesOf, depth - 1));
}

/** The text an expression or a const certainly is, or null. */
export function textIn(node: Node, valuesOf: ValuesOf): string | null {
  const plain = bare(node);
  const [only, ...others] = plain.type === "Identifier" ? valuesOf(plain["name"] as string) : [];
  return literalText(plain) ?? (only === undefined || others.length > 0 ? null : literalText(bare(only)));
}

export interface Forms {
  /** The id of a binding identifier. */
  idOf(binding: Node): string;
  /** The scope inside a list of statements, a function, or a loop's head. */
  inside(scope: Scope, ...what: readonly (Node | null | undefined)[]): Scope;
  form(node: Node | null | undefined, scope: Scope): string;
  /** The form with all values of objects and elements of lists, in the order that counts; rows that are fixed are left out. */
  exact(node: Node, scope: Scope): string;
  /** The elements of a list as it is written, with those that stand above it under a name of their own. */
  elements(list: Node): (Node | null)[];
  /** True for a const that is nothing but such an element. */
  isElement(init: Node): boolean;
  /** The list that a loop goes through by an index and nothing else, or null. */
  listOf(loop: Node): Node | null;
  /** True for the width of a step through a list: how many are taken at a time decides nothing. */
  isStep(node: Node): boolean;
}

export function formsOf(body: readonly Node[]): Forms {
  const ids = new Map<Node, string>();
  /** The width that a node is, as the how manieth of the script: which number it is means nothing. */
  const steps = new Map<Node, number>();
  const seen = new Map<string, number>();
  const uses = new Map<string, number>();
  const numbers = new Map<string, Node>();
  const loops: Node[] = [];
  const assigned = new Set<string>();
  const bind = (pattern: Node): void => {
    for (const { node } of boundIn(pattern)) {
      const name = node["name"] as string;
      const times = seen.get(name) ?? 0;
      seen.set(name, times + 1);
      ids.set(node, times === 0 ? name : `${name}#${times}`);
    }
  };
  for (const node of body.flatMap((one) => [...within(one)])) {
    if (node.type === "VariableDeclarator" || (node.type === "FunctionDeclaration" && node["id"])) bind(node["id"] as Node);
    if (isFunction(node)) for (const one of node["params"] as Node[]) bind(one);
    if (node.type === "ForStatement") loops.push(node);
    if (node.type === "AssignmentExpression" || node.type === "UpdateExpression")
      for (const { node: set } of boundIn(bare((node["left"] ?? node["argument"]) as Node))) assigned.add(set["name"] as string);
    if (node.type === "Identifier") uses.set(node["name"] as string, (uses.get(node["name"] as string) ?? 0) + 1);
    const init = node.type === "VariableDeclarator" ? (node["init"] as Node | null) : null;
    if (init !== null && number(init) && (node["id"] as Node).type === "Identifier")
      numbers.set((node["id"] as Node)["name"] as string, init);
  }
  for (const loop of loops) markSteps(loop, numbers, steps);
  // A const that is nothing but a width is one itself.
  for (const [name, init] of numbers) {
    const taken = [...steps.keys()].filter((node) => node["name"] === name).length;
    if (taken > 0 && taken === (uses.get(name) ?? 0) - 1) steps.set(init, init["value"] as number);
  }
  const indexed = new Map<Node, Node>();
  const taken = new Map<Node, Node>();
  for (const loop of loops) markIndex(loop, indexed, taken);
  const elements = new Map<string, Node>();
  const isUsedOnce = (name: string) => seen.get(name) === 1 && uses.get(name) === 2;
  for (const statements of listsIn(body)) markElements(statements, isUsedOnce, (name) => assigned.has(name), elements);
  const elementsOf: Forms["elements"] = (list) =>
    (list["elements"] as (Node | null)[]).flatMap((one) => {
      const plain = one && bare(one.type === "SpreadElement" ? (one["argument"] as Node) : one);
      const meant = plain?.type === "Identifier" ? elements.get(plain["name"] as string) : undefined;
      if (meant === undefined) return [one];
      return one?.type === "SpreadElement" ? elementsOf(meant) : [meant];
    });
  const widths = [...new Set(steps.values())];
  for (const [node, width] of steps) steps.set(node, widths.indexOf(width));

  const inside: Forms["inside"] = (scope, ...what) => {
    const inner = new Map(scope);
    const add = (pattern: Node) => {
      for (const { node } of boundIn(pattern)) inner.set(node["name"] as string, ids.get(node) ?? "");
    };
    for (const one of what) {
      if (one == null) continue;
      if (one.type === "VariableDeclaration") for (const each of one["declarations"] as Node[]) add(each["id"] as Node);
      else if (one.type === "FunctionDeclaration" && one["id"]) add(one["id"] as Node);
      else if (one.type === "BlockStatement") for (const [name, id] of inside(inner, ...(one["body"] as Node[]))) inner.set(name, id);
    }
    return inner;
  };
  const ofFunction = (node: Node, scope: Scope): Scope => {
    const inner = new Map(scope);
    for (const param of node["params"] as Node[])
      for (const bound of boundIn(param)) inner.set(bound.node["name"] as string, ids.get(bound.node) ?? "");
    return inner;
  };

  let isExact = false;
  const exact: Forms["exact"] = (node, scope) => {
    isExact = true;
    const whole = form(node, scope);
    isExact = false;
    return whole;
  };
  /** Keys by name, but what is spread stays between those that it overwrites and those that overwrite it. */
  const keysOf = (properties: readonly Node[], scope: Scope): string => {
    const parts: string[][] = [[]];
    for (const one of properties) {
      const key = one.type === "Property" ? (nameOf(one) ?? `[${form(one["key"] as Node, scope)}]`) : form(one, scope);
      const isApart = isExact && (one.type !== "Property" || one["computed"] === true);
      if (isApart) parts.push([], []);
      parts
        .at(isApart ? -2 : -1)
        ?.push(isExact && one.type === "Property" && !SHOWN.test(key) ? `${key}:${form(one["value"] as Node, scope)}` : key);
    }
    return parts.flatMap((some) => some.sort()).join();
  };
  const form: Forms["form"] = (node, scope) => {
    if (node == null) return "";
    const plain = bare(node);
    const of = (key: string) => form(plain[key] as Node | null, scope);
    const all = (nodes: readonly (Node | null)[], inner = scope) => nodes.map((one) => form(one, inner)).join();
    const step = steps.get(plain);
    if (step !== undefined) return `${STEP}${step}${STEP}`;
    const index = taken.get(plain);
    if (index !== undefined) return form(index, scope);
    switch (plain.type) {
      case "Identifier": {
        const id = scope.get(plain["name"] as string);
        return id === undefined ? (plain["name"] as string) : `${NAME}${id}${NAME}`;
      }
      case "Literal": {
        // Only what is told as a literal of its own may be left out of a comparison.
        const mark = ["string", "number", "boolean"].includes(typeof plain["value"]) ? LITERAL : "";
        return `${mark}${plain["regex"] === undefined ? JSON.stringify(plain["value"]) : String(plain["raw"])}${mark}`;
      }
      case "TemplateElement":
        return `${LITERAL}${JSON.stringify((plain["value"] as { cooked: string | null }).cooked)}${LITERAL}`;
      case "UnaryExpression": {
        const opposite = plain["operator"] === "!" ? notEqual(bare(plain["argument"] as Node)) : null;
        if (opposite !== null) return form(opposite, scope);
        const empty = of("argument");
        return `${plain["operator"] === "!" && empty.endsWith(".length") ? "Binaryempty(," : `Unary${String(plain["operator"])}(`}${empty})`;
      }
      case "BinaryExpression":
      case "TemplateLiteral": {
        const parts = joined(plain);
        if (parts !== null) return `text(${all(parts)})`;
        const [left, operator, right] = compared(plain);
        return `Binary${operator}(${left === null ? "" : form(left, scope)},${form(right, scope)})`;
      }
      case "ConditionalExpression": {
        // `!a ? x : y` is `a ? y : x`.
        const test = bare(plain["test"] as Node);
        const turned = test.type === "UnaryExpression" && test["operator"] === "!" ? (test["argument"] as Node) : null;
        const equal = test.type === "BinaryExpression" && /^!==?$/.test(String(test["operator"])) ? notEqual(test) : null;
        if (turned === null && equal === null) return `Conditional(${of("test")},${of("consequent")},${of("alternate")})`;
        return form({ ...plain, test: turned ?? equal, consequent: plain["alternate"], alternate: plain["consequent"] } as Node, scope);
      }
      case "MemberExpression":
        return `${of("object")}${plain["optional"] === true ? "?" : ""}.${keyIn(plain) ?? `[${of("property")}]`}`;
      case "ChainExpression":
      case "ExpressionStatement":
        return of("expression");
      case "CallExpression":
        return `${of("callee")}${plain["optional"] === true ? "?" : ""}(${(plain["arguments"] as Node[]).map((one) => (isFunction(one) ? handed(one, scope) : form(one, scope))).join()})`;
      case "ObjectExpression":
        // The values are told one by one, as fields and literals; the order of keys means nothing.
        return `{${keysOf(plain["properties"] as Node[], scope)}}`;
      case "ArrayExpression":
        // So are the rows of a table.
        if (isExact)
          return `[${elementsOf(plain)
            .flatMap((one) => (one !== null && isFixedRow(bare(one)) ? [] : [form(one, scope)]))
            .join()}]`;
        return `[${[...new Set(elementsOf(plain).map((one, i) => (one !== null && bare(one).type === "ObjectExpression" ? form(one, scope) : `${i}:${form(one, scope)}`)))].join()}]`;
      case "ArrowFunctionExpression":
      case "FunctionExpression":
      case "FunctionDeclaration": {
        const inner = ofFunction(plain, scope);
        return `(${all(plain["params"] as Node[], inner)})=>${form(resultOf(plain) ?? (plain["body"] as Node), inner)}`;
      }
      case "BlockStatement": {
        const inner = inside(scope, plain);
        return `{${(plain["body"] as Node[]).flatMap((one) => form(one, inner) || []).join()}}`;
      }
      case "ForStatement":
      case "ForOfStatement":
      case "ForInStatement": {
        const inner = inside(scope, (plain["init"] ?? plain["left"]) as Node | null);
        return `for(${["right", "test", "update", "body"].map((key) => form(plain[key] as Node | null, inner)).join()})`;
      }
      case "VariableDeclaration":
        return ""; // what its names are given is told with them
      default:
        return `${plain.type.replace(/(?:Expression|Statement)$/, "")}${String(plain["operator"] ?? "")}(${all([...children(plain)])})`;
    }
  };
  /** A function that nothing calls by a name: how it takes apart what it is given is told with what its names are. */
  const handed = (node: Node, scope: Scope): string => {
    const [inner, params] = [ofFunction(node, scope), node["params"] as Node[]];
    const defaults = params.flatMap((one) => [...within(one)].filter(({ type }) => type === "AssignmentPattern"));
    return `(${[params.length, ...defaults.map((one) => form(one, inner))].join()})=>${form(resultOf(node) ?? (node["body"] as Node), inner)}`;
  };
  const isElement: Forms["isElement"] = (init) => [...elements.values()].includes(bare(init));
  const listOf: Forms["listOf"] = (loop) => indexed.get(loop) ?? null;
  const idOf: Forms["idOf"] = (binding) => ids.get(binding) ?? "";
  return { idOf, inside, form, exact, elements: elementsOf, isElement, listOf, isStep: (node) => steps.has(bare(node)) };
}

/** True for an object of literals. */
export const isFixedRow = (row: Node): boolean =>
  row.type === "ObjectExpression" &&
  [...children(row)].every(
    (one) => one.type === "Property" && ((one["value"] as Node).type === "Literal" || literalText(one["value"] as Node) !== null),
  );

/** The one expression a function answers, or null. */
export function resultOf(node: Node): Node | null {
  const code = node["body"] as Node;
  if (code.type !== "BlockStatement") return code;
  const [only, ...more] = code["body"] as Node[];
  return only?.type === "ReturnStatement" && more.length === 0 ? (only["argument"] as Node | null) : null;
}
