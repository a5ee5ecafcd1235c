/**
 * The language of agent scripts: an allow-list of syntax, resolved names, and the calls a script makes. For people and models, never the
 * security boundary: realm.js must hold without it. Every finding says what to write instead.
 */
import { type At, didYouMean } from "../kernel/errors.ts";
import type { Compiled, Finding } from "../kernel/ports.ts";
import { ALLOWED, CONSTRUCTORS, FORBIDDEN_KEYS, FORBIDDEN_NAMES, FORBIDDEN_SYNTAX, GLOBALS } from "./language-rules.ts";
import { misleadingName } from "../kernel/text.ts";
import { nestedQuantifier } from "./language-text.ts";
import { type Node, children, constantText, literalText } from "./syntax.ts";

interface Scope {
  names: Set<string>;
  parent: Scope | null;
}

interface Found {
  findings: Finding[];
  scripts: string[];
  calls: Omit<Compiled["calls"][number], "given">[];
  /** Index in `calls` by node. */
  sites: Map<Node, number>;
}

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
const LOOPS = new Set(["ForStatement", "ForInStatement", "ForOfStatement", "WhileStatement", "DoWhileStatement"]);
const AROUND_CALLS = new Set(["ParenthesizedExpression", "ChainExpression", "TSNonNullExpression", "TSAsExpression"]);
const NOT_OBJECTS = new Set(["Literal", "TemplateLiteral", "ArrayExpression", "BinaryExpression", "UnaryExpression", "UpdateExpression"]);

// More would tell a person nothing; and a search for "did you mean" per name would take minutes on a hostile script.
const MAX_FINDINGS = 50;
const MAX_NAME = 60;
const MAX_NAMES = 500;
const MAX_PATTERN = 1000;

/** body: statements of the script. */
export function lintLanguage(
  body: readonly Node[],
  { primitives, place }: { primitives: readonly string[]; place: (offset: number) => At },
): Found {
  const known = new Set([...GLOBALS, ...primitives]);
  const isPrimitive = new Set(primitives);
  const findings: Finding[] = [];
  const scripts = new Set<string>();
  const calls: Found["calls"] = [];
  const sites = new Map<Node, number>();
  const report = (node: Node, message: string, code = "SCRIPT_LANGUAGE") => {
    if (findings.length < MAX_FINDINGS) findings.push({ code, at: place(node.start), message });
  };

  const declared = (name: string, scope: Scope | null): boolean =>
    scope !== null && (scope.names.has(name) || declared(name, scope.parent));
  const visibleNames = (scope: Scope | null): string[] => (scope === null ? [...known] : [...scope.names, ...visibleNames(scope.parent)]);

  const readable = (node: Node, name: string): void => {
    const why = misleadingName(name);
    if (why !== null) report(node, `The name "${name.slice(0, MAX_NAME)}" ${why}. Write it in the letters of one script.`);
  };
  /** Names a pattern binds; each is checked for shadowing. */
  const bind = (pattern: Node, names: Set<string>): void => {
    switch (pattern.type) {
      case "Identifier": {
        const name = pattern["name"] as string;
        if (known.has(name))
          report(pattern, `"${name}" is already the name of a ${isPrimitive.has(name) ? "primitive" : "global"}. Choose another name.`);
        readable(pattern, name);
        names.add(name);
        return;
      }
      case "AssignmentPattern":
        return bind(pattern["left"] as Node, names);
      case "RestElement":
        return bind(pattern["argument"] as Node, names);
      case "ArrayPattern":
        for (const element of pattern["elements"] as (Node | null)[]) if (element !== null) bind(element, names);
        return;
      case "ObjectPattern":
        for (const property of pattern["properties"] as Node[])
          bind(property.type === "Property" ? (property["value"] as Node) : property, names);
        return;
      default:
    }
  };
  /** let, const and functions of one list of statements. */
  const hoist = (list: readonly Node[], names: Set<string>): void => {
    for (const node of list) {
      if (node.type === "VariableDeclaration" && node["kind"] !== "var")
        for (const one of node["declarations"] as Node[]) bind(one["id"] as Node, names);
      else if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") {
        if (node["id"]) bind(node["id"] as Node, names);
      }
    }
  };
  /** var, which belongs to the function. */
  const hoistVars = (node: Node, names: Set<string>): void => {
    if (FUNCTIONS.has(node.type)) return;
    if (node.type === "VariableDeclaration" && node["kind"] === "var")
      for (const one of node["declarations"] as Node[]) bind(one["id"] as Node, names);
    for (const child of children(node)) hoistVars(child, names);
  };

  const name = (node: Node, scope: Scope): void => {
    const text = node["name"] as string;
    if (declared(text, scope) || known.has(text) || findings.length >= MAX_FINDINGS) return;
    const instead = FORBIDDEN_NAMES[text];
    if (instead !== undefined) report(node, `"${text}" is not part of the language. ${instead}`);
    else {
      const hint = text.length > MAX_NAME ? "" : didYouMean(text, visibleNames(scope).slice(0, MAX_NAMES));
      report(node, `"${text.slice(0, MAX_NAME)}" is neither declared nor a primitive.${hint}`, "SCRIPT_UNKNOWN_NAME");
    }
  };
  const key = (node: Node, text: string, inLiteral: boolean): void => {
    readable(node, text);
    const instead = FORBIDDEN_KEYS[text];
    if (instead !== undefined && (inLiteral || text !== "toJSON")) report(node, `".${text}" is not part of the language. ${instead}`);
  };
  const keysOf = (node: Node): string[] | null => {
    const names: string[] = [];
    for (const property of node["properties"] as Node[]) {
      if (property.type !== "Property" || property["computed"] === true) return null;
      const id = property["key"] as Node;
      names.push(id.type === "Identifier" ? (id["name"] as string) : String(id["value"]));
    }
    return names;
  };
  const call = (node: Node, scope: Scope): void => {
    const callee = node["callee"] as Node;
    if (callee.type === "Identifier" && callee["name"] === "Date" && !declared("Date", scope))
      report(node, "Date() depends on the clock. Use ctx_today() or new Date(text).");
    if (callee.type !== "Identifier" || declared(callee["name"] as string, scope) || !isPrimitive.has(callee["name"] as string)) return;
    const args = node["arguments"] as Node[];
    const [first] = args;
    const primitive = callee["name"] as string;
    const keys = first === undefined ? [] : first.type === "ObjectExpression" ? keysOf(first) : null;
    sites.set(node, calls.length);
    calls.push({ name: primitive, keys, bare: first !== undefined && NOT_OBJECTS.has(first.type), at: place(node.start) });
    if (primitive !== "script_run") return;
    const property =
      first?.type === "ObjectExpression"
        ? (first["properties"] as Node[]).find((one) => one.type === "Property" && (one["key"] as Node)["name"] === "name")
        : undefined;
    const target = literalText(property === undefined ? first : (property["value"] as Node));
    if (target === null) report(first ?? node, 'script_run needs the name of the script as literal text: script_run("round", { amount }).');
    else scripts.add(target);
  };
  const assign = (target: Node, scope: Scope): void => {
    if (target.type === "Identifier") {
      const text = target["name"] as string;
      if (!declared(text, scope) && known.has(text)) report(target, `"${text}" cannot be assigned to. Use a variable of your own.`);
    } else if (target.type !== "MemberExpression") for (const child of children(target)) assign(child, scope);
  };

  const visitAll = (list: readonly Node[], scope: Scope): void => {
    const names = new Set<string>();
    hoist(list, names);
    const inner = { names, parent: scope };
    for (const node of list) visit(node, inner);
  };
  const visitFunction = (node: Node, scope: Scope): void => {
    if (node["async"] === true)
      report(node, "Async functions are not part of the language. Primitives answer at once: drop async and await.");
    if (node["generator"] === true) report(node, "Generators are not part of the language. Return a list.");
    const names = new Set<string>();
    if (node.type === "FunctionExpression" && node["id"]) bind(node["id"] as Node, names);
    for (const param of node["params"] as Node[]) bind(param, names);
    const body = node["body"] as Node;
    if (body.type === "BlockStatement") hoistVars(body, names);
    const inner = { names, parent: scope };
    for (const child of children(node)) if (child !== node["id"]) visit(child, inner);
  };
  const visit = (node: Node, scope: Scope): void => {
    const { type } = node;
    if (!ALLOWED.has(type) && !/^TS\w+Keyword$/.test(type)) {
      report(node, FORBIDDEN_SYNTAX[type] ?? `${type} is not part of the language. Write it with plain functions, objects and loops.`);
      // What is inside would only repeat the same complaint.
      return;
    }
    if (
      type.startsWith("TS") &&
      type !== "TSAsExpression" &&
      type !== "TSSatisfiesExpression" &&
      type !== "TSNonNullExpression" &&
      type !== "TSInstantiationExpression"
    )
      return visitTypes(node);
    switch (type) {
      case "BlockStatement":
        return visitAll(node["body"] as Node[], scope);
      case "SwitchStatement": {
        visit(node["discriminant"] as Node, scope);
        const names = new Set<string>();
        for (const one of node["cases"] as Node[]) hoist(one["consequent"] as Node[], names);
        const inner = { names, parent: scope };
        for (const one of node["cases"] as Node[]) for (const child of children(one)) visit(child, inner);
        return;
      }
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement": {
        if (node["await"] === true) report(node, "for await is not part of the language. Write for (const x of list).");
        const names = new Set<string>();
        const head = (node["init"] ?? node["left"]) as Node | null;
        if (head?.type === "VariableDeclaration") hoist([head], names);
        else if (head && type !== "ForStatement") assign(head, scope);
        const inner = { names, parent: scope };
        for (const child of children(node)) visit(child, inner);
        return;
      }
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return visitFunction(node, scope);
      case "Identifier":
        name(node, scope);
        if (node["typeAnnotation"]) visit(node["typeAnnotation"] as Node, scope);
        return;
      case "MemberExpression": {
        const property = node["property"] as Node;
        const text = node["computed"] === true ? constantText(property) : (property["name"] as string);
        if (text !== null) key(property, text, false);
        if (node["computed"] === true) visit(property, scope);
        const object = node["object"] as Node;
        if (
          object.type === "Identifier" &&
          object["name"] === "console" &&
          !["log", "info", "warn", "error", "debug"].includes(property["name"] as string)
        )
          report(node, "Only console.log is here. Use it, or ctx_log.");
        return visit(object, scope);
      }
      case "Property": {
        const id = node["key"] as Node;
        if (node["kind"] !== "init") report(node, "Getters and setters are not part of the language. Use a plain field or a function.");
        const written = id.type === "Identifier" ? (id["name"] as string) : String(id["value"]);
        const text = node["computed"] === true ? constantText(id) : written;
        if (text !== null) key(id, text, true);
        if (node["computed"] === true) visit(id, scope);
        return visit(node["value"] as Node, scope);
      }
      case "LabeledStatement":
        if (!LOOPS.has((node["body"] as Node).type))
          report(node, "A label is allowed only before a loop. For an object as the result write ({ ... }) or return { ... }.");
        return visit(node["body"] as Node, scope);
      case "BreakStatement":
      case "ContinueStatement":
        return;
      case "VariableDeclaration":
        if (node["kind"] !== "var" && node["kind"] !== "let" && node["kind"] !== "const")
          report(node, `"${String(node["kind"])}" declarations are not part of the language. Write const.`);
        break;
      case "AssignmentExpression":
        assign(node["left"] as Node, scope);
        break;
      case "UpdateExpression":
        assign(node["argument"] as Node, scope);
        break;
      case "AwaitExpression": {
        let inner = node["argument"] as Node;
        while (AROUND_CALLS.has(inner.type)) inner = inner["expression"] as Node;
        if (inner.type !== "CallExpression") report(node, "await is allowed only before a call, where it does nothing. Drop it.");
        break;
      }
      case "NewExpression": {
        const callee = node["callee"] as Node;
        const text = callee.type === "Identifier" ? (callee["name"] as string) : "";
        if (!CONSTRUCTORS.has(text)) report(node, `new is only for ${[...CONSTRUCTORS].join(", ")}. Use plain objects and functions.`);
        else if (text === "Date" && (node["arguments"] as Node[]).length === 0)
          report(node, "new Date() depends on the clock and the time zone. Use ctx_today() for the day, or ctx_now().");
        break;
      }
      case "CallExpression":
        call(node, scope);
        break;
      case "Literal":
        if (typeof node["value"] === "bigint" || node["bigint"])
          report(node, "BigInt is not part of the language. Use Decimal for exact numbers.");
        if (node["regex"] && (node["regex"] as { pattern: string }).pattern.length > MAX_PATTERN)
          report(node, `The regular expression has more than ${MAX_PATTERN} characters. Split it into several.`);
        else if (node["regex"] && nestedQuantifier((node["regex"] as { pattern: string }).pattern))
          report(node, "A repetition inside a repetition can take for ever. Rewrite the expression without nesting + or *.");
        return;
      default:
    }
    for (const child of children(node)) visit(child, scope);
  };
  const visitTypes = (node: Node): void => {
    for (const child of children(node)) {
      if (child.type.startsWith("TS") && !ALLOWED.has(child.type) && !/^TS\w+Keyword$/.test(child.type))
        report(child, FORBIDDEN_SYNTAX[child.type] ?? `${child.type} is not part of the language.`);
      else visitTypes(child);
    }
  };

  const names = new Set<string>();
  for (const node of body) hoistVars(node, names);
  visitAll(body, { names, parent: null });
  return { findings, scripts: [...scripts], calls, sites };
}
