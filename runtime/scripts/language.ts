/**
 * The language of agent scripts: an allow-list of syntax, resolved names, and the calls a script makes. For people and models, never the
 * security boundary: realm.js must hold without it. Every finding says what to write instead.
 */
import { type At, didYouMean } from "../kernel/errors.ts";
import type { Compiled, Finding } from "../kernel/ports.ts";
import { ALLOWED, CONSTRUCTORS, FORBIDDEN_KEYS, FORBIDDEN_NAMES, FORBIDDEN_SYNTAX, GLOBALS } from "./language-rules.ts";
import { hiddenIn, misleadingName } from "../kernel/text.ts";
import type { Names } from "./names.ts";
import { type Node, boundIn, children, constantText, literalText, nameOf, valueIn } from "./syntax.ts";

const LOOPS = new Set(["ForStatement", "ForInStatement", "ForOfStatement", "WhileStatement", "DoWhileStatement"]);
const AROUND_CALLS = new Set(["ParenthesizedExpression", "ChainExpression", "TSNonNullExpression", "TSAsExpression"]);
const NOT_OBJECTS = new Set(["Literal", "TemplateLiteral", "ArrayExpression", "BinaryExpression", "UnaryExpression", "UpdateExpression"]);

/** Methods of functions: without `this` they only hide which function is called. */
const REBINDS = /^(?:call|apply|bind)$/;
/** The key of a member; null when it is computed. */
const keyIn = (member: Node): string | null =>
  member["computed"] === true ? constantText(member["property"] as Node) : ((member["property"] as Node)["name"] as string);

// More would not help a person, and searching a "did you mean" for each name would take minutes on a hostile script.
const MAX_FINDINGS = 50;
const MAX_NAME = 60;
const MAX_NAMES = 500;
const MAX_PATTERN = 1000;

/** body: statements of the script. */
export function lintLanguage(
  body: readonly Node[],
  { ids, around }: Names,
  { primitives, place }: { primitives: readonly string[]; place: (offset: number) => At },
) {
  const known = new Set([...GLOBALS, ...primitives]);
  const isPrimitive = new Set(primitives);
  const findings: Finding[] = [];
  const scripts = new Set<string>();
  const calls: Omit<Compiled["calls"][number], "given">[] = [];
  /** Index in `calls` by node. */
  const sites = new Map<Node, number>();
  /** Primitives where they are called, and names that are assigned to. */
  const called = new Set<Node>();
  const report = (node: Node, message: string, code = "SCRIPT_LANGUAGE") => {
    if (findings.length < MAX_FINDINGS) findings.push({ code, at: place(node.start), message });
  };

  const readable = (node: Node, name: string): void => {
    const why = misleadingName(name);
    if (why !== null) report(node, `The name "${name.slice(0, MAX_NAME)}" ${why}. Write it in the letters of one script.`);
  };
  /** Names bound by a pattern may be neither primitives nor misleading. */
  const bind = (pattern: Node): void => {
    for (const { node } of boundIn(pattern)) {
      const text = node["name"] as string;
      if (known.has(text))
        report(node, `"${text}" is already the name of a ${isPrimitive.has(text) ? "primitive" : "global"}. Choose another name.`);
      readable(node, text);
    }
  };

  const name = (node: Node): void => {
    const text = node["name"] as string;
    // Under another name nothing would find the call: neither its rights nor its states.
    if (isPrimitive.has(text) && !ids.has(node) && !called.has(node))
      report(node, `${text} is a primitive, which is not a value. Call it here, or write a function that calls it: (x) => ${text}(x).`);
    if (ids.has(node) || known.has(text) || findings.length >= MAX_FINDINGS) return;
    const instead = FORBIDDEN_NAMES[text];
    if (instead !== undefined) report(node, `"${text}" is not part of the language. ${instead}`);
    else {
      const hint = text.length > MAX_NAME ? "" : didYouMean(text, [...around(node), ...known].slice(0, MAX_NAMES));
      report(node, `"${text.slice(0, MAX_NAME)}" is neither declared nor a primitive.${hint}`, "SCRIPT_UNKNOWN_NAME");
    }
  };
  const key = (node: Node, text: string, inLiteral: boolean): void => {
    readable(node, text);
    const instead = FORBIDDEN_KEYS[text];
    if (instead !== undefined && (inLiteral || text !== "toJSON")) report(node, `".${text}" is not part of the language. ${instead}`);
  };
  const keysOf = (node: Node): string[] | null => {
    const names = (node["properties"] as Node[]).map((one) => (one["computed"] === true ? null : nameOf(one)));
    return names.includes(null) ? null : (names as string[]);
  };
  const call = (node: Node): void => {
    const callee = node["callee"] as Node;
    if (callee.type === "Identifier" && callee["name"] === "Date" && !ids.has(callee))
      report(node, "Date() depends on the clock. Use ctx_today() or new Date(text).");
    const method = callee.type === "MemberExpression" ? keyIn(callee) : null;
    if (method !== null && REBINDS.test(method)) report(node, `.${method}() is not part of the language. Call the function itself.`);
    if (callee.type !== "Identifier" || ids.has(callee) || !isPrimitive.has(callee["name"] as string)) return;
    called.add(callee);
    const args = node["arguments"] as Node[];
    const [first] = args;
    const primitive = callee["name"] as string;
    const keys = first === undefined ? [] : first.type === "ObjectExpression" ? keysOf(first) : null;
    sites.set(node, calls.length);
    calls.push({ name: primitive, keys, bare: first !== undefined && NOT_OBJECTS.has(first.type), at: place(node.start) });
    if (primitive !== "script_run") return;
    const target = literalText(first?.type === "ObjectExpression" ? valueIn(first, "name") : first);
    if (target === null) report(first ?? node, 'script_run needs the name of the script as literal text: script_run("round", { amount }).');
    else scripts.add(target);
  };
  const assign = (target: Node): void => {
    if (target.type === "Identifier") {
      const text = target["name"] as string;
      called.add(target);
      if (!ids.has(target) && known.has(text)) report(target, `"${text}" cannot be assigned to. Use a variable of your own.`);
    } else if (target.type !== "MemberExpression") for (const child of children(target)) assign(child);
  };

  const visitFunction = (node: Node): void => {
    if (node["async"] === true)
      report(node, "Async functions are not part of the language. Primitives answer at once: drop async and await.");
    if (node["generator"] === true) report(node, "Generators are not part of the language. Return a list.");
    if (node["id"]) bind(node["id"] as Node);
    for (const param of node["params"] as Node[]) bind(param);
    for (const child of children(node)) if (child !== node["id"]) visit(child);
  };
  const visit = (node: Node): void => {
    const { type } = node;
    if (!ALLOWED.has(type) && !/^TS\w+Keyword$/.test(type)) {
      report(node, FORBIDDEN_SYNTAX[type] ?? `${type} is not part of the language. Write it with plain functions, objects and loops.`);
      // The inside would only repeat the same complaint.
      return;
    }
    if (/^TS(?!(?:As|Satisfies|NonNull|Instantiation)Expression$)/.test(type)) return visitTypes(node);
    switch (type) {
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement": {
        if (node["await"] === true) report(node, "for await is not part of the language. Write for (const x of list).");
        const head = (node["init"] ?? node["left"]) as Node | null;
        if (head && head.type !== "VariableDeclaration" && type !== "ForStatement") assign(head);
        break;
      }
      case "VariableDeclarator":
        bind(node["id"] as Node);
        break;
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return visitFunction(node);
      case "Identifier":
        name(node);
        break;
      case "MemberExpression": {
        const property = node["property"] as Node;
        const text = keyIn(node);
        if (text !== null) key(property, text, false);
        if (node["computed"] === true) visit(property);
        const object = node["object"] as Node;
        if (
          object.type === "Identifier" &&
          object["name"] === "console" &&
          !["log", "info", "warn", "error", "debug"].includes(property["name"] as string)
        )
          report(node, "Only console.log is available. Use it, or ctx_log.");
        return visit(object);
      }
      case "Property": {
        const id = node["key"] as Node;
        if (node["kind"] !== "init") report(node, "Getters and setters are not part of the language. Use a plain field or a function.");
        const written = id.type === "Identifier" ? (id["name"] as string) : String(id["value"]);
        const text = node["computed"] === true ? constantText(id) : written;
        if (text !== null) key(id, text, true);
        if (node["computed"] === true) visit(id);
        return visit(node["value"] as Node);
      }
      case "LabeledStatement":
        if (!LOOPS.has((node["body"] as Node).type))
          report(node, "A label is allowed only before a loop. For an object as the result write ({ ... }) or return { ... }.");
        return visit(node["body"] as Node);
      case "BreakStatement":
      case "ContinueStatement":
        return;
      case "VariableDeclaration":
        if (node["kind"] !== "var" && node["kind"] !== "let" && node["kind"] !== "const")
          report(node, `"${String(node["kind"])}" declarations are not part of the language. Write const.`);
        break;
      case "AssignmentExpression":
        assign(node["left"] as Node);
        break;
      case "UpdateExpression":
        assign(node["argument"] as Node);
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
        call(node);
        break;
      case "Literal":
        if (typeof node["value"] === "bigint" || node["bigint"])
          report(node, "BigInt is not part of the language. Use Decimal for exact numbers.");
        if (node["regex"] && (node["regex"] as { pattern: string }).pattern.length > MAX_PATTERN)
          report(node, `The regular expression has more than ${MAX_PATTERN} characters. Split it into several.`);
        else if (node["regex"] && nestedQuantifier((node["regex"] as { pattern: string }).pattern))
          report(node, "A repetition inside a repetition can take forever. Rewrite the expression without nesting + or *.");
        return;
      default:
    }
    for (const child of children(node)) visit(child);
  };
  const visitTypes = (node: Node): void => {
    for (const child of children(node)) {
      if (child.type.startsWith("TS") && !ALLOWED.has(child.type) && !/^TS\w+Keyword$/.test(child.type))
        report(child, FORBIDDEN_SYNTAX[child.type] ?? `${child.type} is not part of the language.`);
      else visitTypes(child);
    }
  };

  for (const node of body) visit(node);
  return { findings, scripts: [...scripts], calls, sites };
}

/** Findings in the text outside the tree: what misleads a reader, and HTML-like comments. */
export function scanText(
  wrapped: string,
  comments: readonly { type: string; start: number }[],
  prefix: number,
  place: (offset: number) => At,
): Finding[] {
  const findings: Finding[] = [];
  for (const { index, message } of hiddenIn(wrapped.slice(prefix))) {
    findings.push({ code: "SCRIPT_LANGUAGE", at: place(prefix + index), message });
    if (findings.length >= MAX_FINDINGS) break;
  }
  for (const comment of comments) {
    if (wrapped.startsWith("<!--", comment.start) || wrapped.startsWith("-->", comment.start)) {
      findings.push({
        code: "SCRIPT_LANGUAGE",
        at: place(comment.start),
        message: "HTML-like comments are not part of the language. Write //.",
      });
    }
  }
  return findings;
}

/** `(a+)+` and the like; groups and classes are flattened from the inside out. */
function nestedQuantifier(pattern: string): boolean {
  let text = pattern.replace(/\\./g, "a").replace(/\[(?:[^\]])*\]/g, "a");
  for (let i = 0; i < 50; i++) {
    if (/\((?:\?[:=!<]+)?[^()]*(?:[+*]|\{\d+,\d*\})[^()]*\)(?:[+*]|\{\d+,)/.test(text)) return true;
    const next = text.replace(/\([^()]*\)/g, (group) => (/[+*]|\{\d+,/.test(group) ? "a+" : "a"));
    if (next === text) return false;
    text = next.replace(/a\+(?=[+*{])/g, "(a+)");
  }
  return true;
}
