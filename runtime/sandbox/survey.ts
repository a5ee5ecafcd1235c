/**
 * What a script's text shows of what it can do, for comparing two versions of it: its literals with the names they stand under, the
 * values of a few telling keys, and what decides whether each call is made. Runs in the compile child beside the language lint.
 */
import { createHash } from "node:crypto";
import type { Survey } from "../ports.ts";
import { TYPED, bare, isFunction } from "./flow.ts";
import { calleeOf, collectGiven, leaves, literalsIn, nameOf, namesIn } from "./mentions.ts";
import { type Node, children, literalText } from "./syntax.ts";

interface Test {
  node: Node;
  not: boolean;
  /** What a loop goes over. */
  each?: true;
}

interface Around {
  /** Names from the nearest variable or call down to here: `policy_evaluate.facts.total`. */
  path: string;
  /** Conditions under which this place is reached, outermost first; not: when it does not hold. */
  tests: readonly Test[];
  /** The function of the script that this stands in. */
  inside: string | null;
}

export interface SurveyOptions {
  /** Text that the offsets of the nodes count in. */
  text: string;
  /** Calls of primitives, by node. */
  sites: ReadonlyMap<Node, number>;
  line: (offset: number) => number;
  /** Keys whose values are told. */
  keys: readonly string[];
  primitives: readonly string[];
}

/** Ways to make an object with keys that stand nowhere in the text. */
const BUILDERS = new Set(["JSON.parse", "Object.fromEntries", "Object.defineProperty"]);
// A condition is told with the variables it names and those these are made of. Deeper it would change with every table of data.
const DEPTH = 2;
const LONGEST = 20_000;
const SHOWN = 160;

export function surveyOf(body: readonly Node[], { text, sites, line, keys, primitives }: SurveyOptions): Survey {
  const isPrimitive = new Set(primitives);
  const survey: Survey = { literals: [], fields: [], built: [], when: [] };
  const values = new Map<string, Node[]>();
  const callers = new Map<string, Around[]>();
  const reached: { node: Node; index: number; around: Around }[] = [];
  const sliced = (node: Node): string =>
    text
      .slice(node.start, node.end)
      .replace(/("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)|\s+/g, (_, quoted?: string) => quoted ?? " ");

  /** The text of an expression, with what the variables in it stand for. */
  const expanded = (node: Node, depth: number, seen: Set<string>, out: { text: string }): void => {
    out.text += `${sliced(node)}\n`;
    if (depth === 0 || out.text.length > LONGEST) return;
    for (const name of namesIn(node)) {
      if (seen.has(name)) continue;
      seen.add(name);
      for (const value of values.get(name) ?? []) {
        const plain = bare(value);
        // What a primitive answers depends on the world; which one is asked is told. Tables of data are no condition.
        if (sites.has(plain)) out.text += `${name}: ${calleeOf(plain)} ${[...literalsIn(plain)].join(" ")}\n`;
        else if (plain.type !== "ArrayExpression" && plain.type !== "ObjectExpression") expanded(plain, depth - 1, seen, out);
      }
    }
  };
  const meaning = (nodes: readonly Test[]): string => {
    const out = { text: "" };
    for (const { node, not } of nodes) {
      out.text += not ? "not " : "";
      expanded(node, DEPTH, new Set(), out);
    }
    return createHash("sha256").update(out.text).digest("base64url").slice(0, 16);
  };
  const isFixed = (node: Node, depth = 4): boolean => {
    const plain = bare(node);
    if (literalText(plain) !== null || plain.type === "Literal") return true;
    if (depth === 0) return false;
    if (plain.type === "ConditionalExpression")
      return isFixed(plain["consequent"] as Node, depth) && isFixed(plain["alternate"] as Node, depth);
    if (plain.type === "LogicalExpression") return isFixed(plain["right"] as Node, depth) && isFixed(plain["left"] as Node, depth);
    const known = plain.type === "Identifier" ? (values.get(plain["name"] as string) ?? []) : [];
    return known.length > 0 && known.every((one) => isFixed(one, depth - 1));
  };

  const field = (name: string, value: Node, around: Around, tool: string | null): void => {
    if (!keys.includes(name)) return;
    const own = [{ node: value, not: false }];
    const [means, when] = [meaning(own), meaning([...around.tests, ...own])];
    survey.fields.push({ name, fixed: isFixed(value), means, when, tool, line: line(value.start), shown: sliced(value).slice(0, SHOWN) });
  };
  const list = (nodes: readonly Node[], around: Around): void => {
    let tests = around.tests;
    for (const node of nodes) {
      visit(node, { ...around, tests });
      // What stands behind `if (x) return` is reached when x does not hold.
      if (node.type === "IfStatement" && leaves(node)) tests = [...tests, { node: node["test"] as Node, not: true }];
      else if (leaves(node)) tests = [...tests, { node, not: true }];
    }
  };
  const choice = (node: Node, test: Node, branches: readonly (Node | null | undefined)[], around: Around): void => {
    visit(test, around);
    branches.forEach((branch, i) => {
      if (branch) visit(branch, { ...around, tests: [...around.tests, { node: test, not: i === 1 || node["operator"] === "||" }] });
    });
  };

  const visit = (node: Node, around: Around): void => {
    const plainType = node.type.startsWith("TS") && !TYPED.has(node.type);
    if (plainType && node.type !== "TSInstantiationExpression") return;
    switch (node.type) {
      case "Literal":
        if (["string", "number", "boolean"].includes(typeof node["value"]))
          survey.literals.push({ value: node["value"] as string, path: around.path, line: line(node.start) });
        return;
      case "TemplateElement": {
        const { cooked } = node["value"] as { cooked: string | null };
        if (cooked) survey.literals.push({ value: cooked, path: around.path, line: line(node.start) });
        return;
      }
      case "BlockStatement":
        return list(node["body"] as Node[], around);
      case "IfStatement":
      case "ConditionalExpression":
        return choice(node, node["test"] as Node, [node["consequent"] as Node, node["alternate"] as Node | null], around);
      case "LogicalExpression":
        return choice(node, node["left"] as Node, [node["right"] as Node], around);
      case "WhileStatement":
      case "DoWhileStatement":
        return choice(node, node["test"] as Node, [node["body"] as Node], around);
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement": {
        // How often it happens is part of what decides.
        const head = (node["right"] ?? node["test"]) as Node | null;
        for (const child of children(node)) if (child !== node["body"]) visit(child, around);
        return visit(
          node["body"] as Node,
          head === null ? around : { ...around, tests: [...around.tests, { node: head, not: false, each: true }] },
        );
      }
      case "SwitchStatement": {
        const tests = [...around.tests, { node: node["discriminant"] as Node, not: false }];
        for (const one of node["cases"] as Node[]) {
          const test = one["test"] as Node | null;
          list(one["consequent"] as Node[], { ...around, tests: test === null ? tests : [...tests, { node: test, not: false }] });
          if (test !== null) visit(test, around);
        }
        return visit(node["discriminant"] as Node, around);
      }
      case "VariableDeclarator": {
        const { id, init } = node as unknown as { id: Node; init: Node | null };
        const name = id.type === "Identifier" ? (id["name"] as string) : "";
        if (init === null) return;
        const named = isFunction(bare(init)) && name !== "";
        return visit(init, { ...around, path: name, ...(named ? { inside: name, tests: [] } : {}) });
      }
      case "FunctionDeclaration":
        return visit(node["body"] as Node, {
          path: "",
          tests: [],
          inside: ((node["id"] as Node | null)?.["name"] as string | undefined) ?? null,
        });
      case "ObjectExpression": {
        const properties = node["properties"] as Node[];
        const tools = properties.map((one) => (nameOf(one) === "tool" ? textIn(one["value"] as Node) : null));
        for (const one of properties) {
          if (one.type !== "Property") visit(one, around);
          else property(one, around, tools.find((tool) => tool !== null) ?? null);
        }
        return;
      }
      case "AssignmentExpression": {
        const left = bare(node["left"] as Node);
        const computed = left.type === "MemberExpression" && left["computed"] === true;
        const property = left.type === "MemberExpression" ? (left["property"] as Node) : left;
        const name = computed ? literalText(property) : ((property["name"] as string | undefined) ?? null);
        if (name === null && computed) survey.built.push(line(left.start));
        if (name !== null && left.type === "MemberExpression") field(name, node["right"] as Node, around, null);
        visit(node["left"] as Node, around);
        return visit(node["right"] as Node, { ...around, path: name ?? "" });
      }
      case "CallExpression": {
        const index = sites.get(node);
        const callee = bare(node["callee"] as Node);
        const name = calleeOf(node);
        if (index !== undefined) reached.push({ node, index, around });
        if (BUILDERS.has(name)) survey.built.push(line(node.start));
        if (callee.type !== "Identifier") visit(callee, { ...around, path: "" });
        else if (index === undefined) mention(callee["name"] as string, around);
        // `rows.forEach(f)` makes the calls of f as often as there are rows.
        const each = callee.type === "MemberExpression" ? [{ node: callee["object"] as Node, not: false, each: true as const }] : [];
        for (const one of node["arguments"] as Node[]) {
          const handed = isFunction(bare(one)) ? { ...around, tests: [...around.tests, ...each] } : around;
          visit(one, { ...handed, path: index === undefined ? "" : name });
        }
        return;
      }
      case "Identifier":
        // `const f = mcp_call`: who calls f is not followed.
        if (isPrimitive.has(node["name"] as string)) survey.built.push(line(node.start));
        return mention(node["name"] as string, around);
      case "MemberExpression":
        visit(node["object"] as Node, around);
        return node["computed"] === true ? visit(node["property"] as Node, { ...around, path: "" }) : undefined;
      default:
        for (const child of children(node)) visit(child, around);
    }
  };
  const property = (node: Node, around: Around, tool: string | null): void => {
    const name = nameOf(node);
    const value = node["value"] as Node;
    if (node["computed"] === true) visit(node["key"] as Node, around);
    if (name === null) survey.built.push(line(node.start));
    else field(name, value, around, tool);
    visit(value, { ...around, path: [around.path, name ?? ""].filter((one) => one !== "").join(".") });
  };
  /** The text an expression or a const certainly is, or null. */
  const textIn = (node: Node): string | null => {
    const plain = bare(node);
    const [only, ...others] = plain.type === "Identifier" ? (values.get(plain["name"] as string) ?? []) : [];
    return literalText(plain) ?? (only === undefined || others.length > 0 ? null : literalText(bare(only)));
  };
  /** A function of the script that is called, or handed on. */
  const mention = (name: string, around: Around): void => {
    const known = callers.get(name);
    if (known === undefined) callers.set(name, [around]);
    else known.push(around);
  };

  for (const node of body) collectGiven(node, values);
  list(body, { path: "", tests: [], inside: null });
  for (const { node, index, around } of reached) {
    const tests = [...around.tests, ...callersOf(around.inside, callers, new Set())];
    const shown = around.tests
      .filter(({ each }) => each === undefined)
      .map((one) => `${one.not ? "not " : ""}${sliced(one.node)}`)
      .join(" and ");
    survey.when[index] = { means: tests.length === 0 ? "" : meaning(tests), shown: shown.slice(0, SHOWN), texts: [...literalsIn(node)] };
  }
  // A call in a default value or a type was not walked to: it counts as one that nothing decides.
  for (const index of sites.values()) survey.when[index] ??= { means: "", shown: "", texts: [] };
  return survey;
}

/** Conditions under which a function of the script is called, through all that call it. */
function callersOf(name: string | null, callers: ReadonlyMap<string, Around[]>, seen: Set<string>): Test[] {
  if (name === null || seen.has(name)) return [];
  seen.add(name);
  return (callers.get(name) ?? []).flatMap((one) => [...one.tests, ...callersOf(one.inside, callers, seen)]);
}
