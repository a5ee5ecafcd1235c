/**
 * TypeScript to the JavaScript that runs in the realm: wrap, erase `await`, return the last expression, strip types. Line numbers stay
 * the same; `shifts` lists which columns moved. All edits are insertions or blanks at offsets of the wrapped source, made before stripping.
 */
import { stripTypeScriptTypes } from "node:module";
import type { Compiled } from "../kernel/ports.ts";
import { type Node, children, within } from "./syntax.ts";

const START = '"use strict";__run(';
/** What the parser sees: async, so that `await` before a call can be erased. */
export const PARSE_PREFIX = `${START}async function(input){`;
export const CODE_PREFIX = `${START}function(input){`;
export const SUFFIX = "\n})";

interface Edit {
  at: number;
  /** Characters replaced. */
  remove: number;
  text: string;
}

/** `wrapped` is PARSE_PREFIX + source + SUFFIX, `body` its statements. @throws Node's error on syntax that cannot be erased */
export function rewrite(
  wrapped: string,
  body: readonly Node[],
  comments: readonly { start: number }[],
): { code: string; shifts: Compiled["shifts"] } {
  const edits: Edit[] = [{ at: START.length, remove: "async ".length, text: "" }];
  // `//# sourceURL=x` renames the script in stack traces: errors would lose their place, or point to another file.
  for (const { start } of comments) {
    if (wrapped.startsWith("//#", start) || wrapped.startsWith("//@", start)) edits.push({ at: start + 2, remove: 1, text: " " });
  }
  const awaits = new Set<number>();
  for (const node of body) {
    collectAwaits(node, edits, awaits);
    collectErased(node, edits);
  }
  const returned = new Set<number>();
  for (const expression of tailOf(body, false)) {
    edits.push({ at: expression.start, remove: 0, text: "return(" }, { at: expression.end, remove: 0, text: ")" });
    returned.add(expression.start);
  }
  // `a⏎await (b)` are two statements, `a⏎(b)` is a call: where a statement began with the erased word, a `;` replaces it.
  for (const list of [body, ...body.flatMap((node) => [...within(node)].flatMap(lists))])
    for (const one of list) if (awaits.has(one.start) && !returned.has(one.start)) edits.push({ at: one.start, remove: 0, text: ";" });
  edits.sort((a, b) => a.at - b.at || order(a) - order(b));

  const shifts: Compiled["shifts"] = [{ line: 1, fromCol: CODE_PREFIX.length + 1, shift: CODE_PREFIX.length }];
  let out = "";
  let from = 0;
  let line = 1;
  let lineStart = 0;
  for (const edit of edits) {
    const kept = wrapped.slice(from, edit.at);
    for (const end of kept.matchAll(/\r\n|[\n\r\u2028\u2029]/g)) {
      line++;
      lineStart = out.length + end.index + end[0].length;
    }
    out += kept;
    from = edit.at + edit.remove;
    if (edit.at > PARSE_PREFIX.length - 1 && edit.text.length !== edit.remove)
      shifts.push({ line, fromCol: out.length - lineStart + edit.text.length + 1, shift: edit.text.length - edit.remove });
    out += edit.text;
  }
  out += wrapped.slice(from);
  return { code: stripTypeScriptTypes(out, { mode: "strip" }), shifts };
}

/** A closing parenthesis comes before anything that opens at the same place. */
const order = (edit: Edit): number => (edit.text === ")" ? 0 : edit.text === "return(" || edit.text === ";" ? 1 : 2);

function collectAwaits(node: Node, edits: Edit[], awaits: Set<number>): void {
  // Inside an async function of the script (only without lint) `await` keeps its meaning.
  if (node["async"] === true) return;
  if (node.type === "AwaitExpression") {
    edits.push({ at: node.start, remove: 5, text: "     " });
    awaits.add(node.start);
  }
  for (const child of children(node)) collectAwaits(child, edits, awaits);
}

/** Node's stripping loses the `;` implied by an erased type statement: write one before it. */
function collectErased(node: Node, edits: Edit[]): void {
  if (isErased(node)) edits.push({ at: node.start, remove: 0, text: ";" });
  else for (const child of children(node)) collectErased(child, edits);
}

const isErased = (node: Node): boolean =>
  /^TS(?:TypeAliasDeclaration|InterfaceDeclaration|DeclareFunction)$/.test(node.type) || node["declare"] === true;

/** The statement lists directly inside a node. */
function lists(node: Node): (readonly Node[])[] {
  if (node.type === "BlockStatement" || node.type === "StaticBlock") return [node["body"] as Node[]];
  if (node.type === "SwitchCase") return [node["consequent"] as Node[]];
  return [];
}

/** Expressions whose value is the value of the list. In a switch a trailing `break` ends the list. */
function tailOf(list: readonly Node[], inSwitch: boolean): Node[] {
  for (let i = list.length - 1; i >= 0; i--) {
    const node = list[i];
    if (node === undefined) break;
    if (node.type === "EmptyStatement" || node.type === "FunctionDeclaration" || isErased(node)) continue;
    if (inSwitch && isBreak(node)) continue;
    return [...(inSwitch ? list.slice(0, i).flatMap(endsOfSwitch) : []), ...tailOfStatement(node, inSwitch)];
  }
  return [];
}

const isBreak = (node: Node | undefined): boolean => node?.type === "BreakStatement" && node["label"] === null;

/** Tails before a `break` that ends the switch early: `case 1: if (x) { 5; break }`. Loops and functions have breaks of their own. */
function endsOfSwitch(node: Node): Node[] {
  switch (node.type) {
    case "BlockStatement": {
      const list = node["body"] as Node[];
      return isBreak(list.at(-1)) ? tailOf(list, true) : list.flatMap(endsOfSwitch);
    }
    case "IfStatement":
      return [node["consequent"], node["alternate"]].flatMap((one) => (one ? endsOfSwitch(one as Node) : []));
    default:
      return [];
  }
}

function tailOfStatement(node: Node, inSwitch: boolean): Node[] {
  switch (node.type) {
    case "ExpressionStatement":
      return [node["expression"] as Node];
    case "BlockStatement":
      return tailOf(node["body"] as Node[], inSwitch);
    case "IfStatement":
      return [
        ...tailOfStatement(node["consequent"] as Node, inSwitch),
        ...(node["alternate"] ? tailOfStatement(node["alternate"] as Node, inSwitch) : []),
      ];
    case "SwitchStatement": {
      const cases = node["cases"] as Node[];
      // A case that falls through into the next one has no value of its own.
      return cases.flatMap((one, i) => {
        const list = one["consequent"] as Node[];
        return onlyBreaks(cases.slice(i + 1)) || endsWithBreak(list) ? tailOf(list, true) : list.flatMap(endsOfSwitch);
      });
    }
    case "TryStatement":
      return [node["block"] as Node, ...(node["handler"] ? [(node["handler"] as Node)["body"] as Node] : [])].flatMap((block) =>
        tailOf(block["body"] as Node[], inSwitch),
      );
    default:
      return [];
  }
}

/** Cases that a fall-through passes without meeting a value: none, or empty ones up to a `break`. */
function onlyBreaks(cases: readonly Node[]): boolean {
  for (const one of cases) {
    const list = one["consequent"] as Node[];
    if (list.length > 0) return list.every(isBreak);
  }
  return true;
}

function endsWithBreak(list: readonly Node[]): boolean {
  const last = list.at(-1);
  if (last === undefined) return false;
  return last.type === "BlockStatement" ? endsWithBreak(last["body"] as Node[]) : isBreak(last);
}
