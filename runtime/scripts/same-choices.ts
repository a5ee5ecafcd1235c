/**
 * What comes to the same in every case, in one way of writing it (forms.ts). Invariant: nothing is done more or less often, or in another order.
 */
import type { Names } from "./names.ts";
import { keyIn } from "./same-forms.ts";
import { type Node, bare, isFunction, literalText, readIn, within } from "./syntax.ts";

const alone = (node: Node | null | undefined): Node | null =>
  node?.type !== "BlockStatement" ? (node ?? null) : (node["body"] as Node[]).length === 1 ? alone((node["body"] as Node[])[0]) : null;
const returned = (node: Node | null | undefined): Node | null =>
  alone(node)?.type === "ReturnStatement" ? (alone(node)?.["argument"] as Node | null) : null;
const assigned = (node: unknown, name: unknown): Node | null => {
  const only = alone(node as Node);
  const set = only?.type === "ExpressionStatement" ? bare(only["expression"] as Node) : null;
  const isOf = set?.type === "AssignmentExpression" && set["operator"] === "=" && (set["left"] as Node)["name"] === name;
  return isOf ? (set["right"] as Node) : null;
};
const mentions = (node: Node, name: unknown): boolean =>
  (node.type === "Identifier" && node["name"] === name) || [...readIn(node)].some((one) => mentions(one, name));
const chosen = ({ start, end, test }: Node, consequent: Node, alternate: Node): Node => {
  return { type: "ConditionalExpression", start, end, test, consequent, alternate };
};

/** `const [a, b] = [x, y]` is `const a = x, b = y`. */
function separate(one: Node): Node[] {
  const [pattern, init] = [one["id"] as Node, one["init"] as Node | null];
  const value = init === null ? null : bare(init);
  if (pattern.type !== "ArrayPattern" || value?.type !== "ArrayExpression") return [one];
  const [names, values] = [pattern, value].map((list) => list["elements"] as (Node | null)[]) as [(Node | null)[], (Node | null)[]];
  const isPlain =
    names.every((name) => name?.type === "Identifier") && values.every((each) => each !== null && each.type !== "SpreadElement");
  if (!isPlain || names.length !== values.length) return [one];
  return names.flatMap((id, i) => {
    const each = values[i];
    return id && each ? [{ ...one, start: id.start, end: each.end, id, init: each }] : [];
  });
}

/** `let a = 1; if (b) a = 2;` is `let a = b ? 2 : 1;`, and `if (b) return 1; return 2;` is `return b ? 1 : 2;`: in every list of statements, in place. */
export function joinChoices(body: readonly Node[]): Node[] {
  for (const one of body.flatMap((each) => [...within(each)]))
    if (one.type === "VariableDeclaration") one["declarations"] = (one["declarations"] as Node[]).flatMap(separate);
  const all = body.flatMap((one) => [...within(one)]);
  // A function from elsewhere could read or set a name before it is chosen.
  const isSeen = (at: Node, name: unknown) =>
    all.some((one) => isFunction(one) && !(one.start <= at.start && at.end <= one.end) && mentions(one, name));
  const declared = (node: Node, next: Node | undefined): Node | null => {
    const [only, ...more] = node.type === "VariableDeclaration" && node["kind"] === "let" ? (node["declarations"] as Node[]) : [];
    if (only === undefined || more.length > 0 || next?.type !== "IfStatement") return null;
    const [name, init] = [(only["id"] as Node)["name"], only["init"] as Node | null];
    // A literal can be left out where something else is chosen.
    if (name === undefined || (init !== null && bare(init).type !== "Literal" && literalText(bare(init)) === null)) return null;
    const chain = (branch: Node): Node | null => {
      const other = alone(branch["alternate"] as Node | null);
      const no = other === null ? init : other.type === "IfStatement" ? chain(other) : assigned(other, name);
      const yes = assigned(branch["consequent"], name);
      return yes === null || no === null || mentions(branch["test"] as Node, name) ? null : chosen(branch, yes, no);
    };
    const value = chain(next);
    if (value === null || mentions(value, name) || isSeen(node, name)) return null;
    return { ...node, declarations: [{ ...only, init: value }] };
  };
  const joined = (list: readonly Node[]): Node[] => {
    const found: Node[] = [];
    for (const node of list.toReversed()) {
      const [next, one] = [found.at(-1), declared(node, found.at(-1))];
      const yes = node.type === "IfStatement" ? returned(node["consequent"] as Node) : null;
      const no = yes === null ? null : returned((node["alternate"] as Node | null) ?? (next?.type === "ReturnStatement" ? next : null));
      const end = node["alternate"] ? node.end : (next?.end ?? 0);
      if (one !== null || (no !== null && !node["alternate"])) found.pop();
      found.push(one ?? (yes && no ? { ...node, end, type: "ReturnStatement", argument: chosen({ ...node, end }, yes, no) } : node));
    }
    return found.reverse();
  };
  for (const node of all) if (node.type === "BlockStatement") node["body"] = joined(node["body"] as Node[]);
  return joined(body);
}

/** Other names that decimal.js has for a method. */
const NAMES =
  "mul times, dividedBy div, modulo mod, negated neg, add plus, sub minus, equals eq, comparedTo cmp, greaterThan gt, greaterThanOrEqualTo gte, lessThan lt, lessThanOrEqualTo lte";
export const ALIAS = new Map(NAMES.split(", ").map((pair) => pair.split(" ") as [string, string]));
const ARITHMETIC = /^(?:times|mul|div|dividedBy|mod|modulo|neg|negated|plus|add|minus|sub)$/;
/** True for `new Decimal(x).plus(y)`: its methods are frozen. Anything else may have an `add` or `sub` of its own. */
function isDecimal(node: Node, names: Names, depth = 20): boolean {
  const plain = bare(node);
  const callee = bare((plain["callee"] as Node | undefined) ?? plain);
  if (plain.type === "NewExpression") return callee["name"] === "Decimal" && !names.ids.has(callee);
  if (plain.type === "CallExpression" && callee.type === "MemberExpression")
    return depth > 0 && ARITHMETIC.test(keyIn(callee) ?? "") && isDecimal(callee["object"] as Node, names, depth - 1);
  const fixed = plain.type === "Identifier" ? names.fixed.get(names.ids.get(plain) ?? "") : undefined;
  return depth > 0 && fixed !== undefined && isDecimal(fixed, names, depth - 1);
}

/** Reading it does nothing, and gives the same each time. */
const isStill = (node: Node): boolean =>
  [...within(node)].every(({ type, computed, property }) =>
    type === "MemberExpression"
      ? computed !== true || (property as Node).type === "Literal"
      : /^(?:Identifier|Literal|ChainE.*)$/.test(type),
  );

/** `a == null` of `a === null || a === undefined`, and its opposite; null for anything else. */
function nullish(node: Node, { ids }: Names, form: (node: Node) => string): Node | null {
  const [left, right] = [bare(node["left"] as Node), bare(node["right"] as Node)];
  const equal = { "||": "===", "&&": "!==" }[String(node["operator"])];
  if (equal === undefined || [left, right].some((side) => side.type !== "BinaryExpression" || side["operator"] !== equal)) return null;
  const ends = [left, right].map((side) => bare(side["right"] as Node));
  const value = left["left"] as Node;
  if (!ends.some((end) => end["name"] === "undefined" && !ids.has(end)) || !isStill(value) || form(value) !== form(right["left"] as Node))
    return null;
  const nothing = ends.find(({ raw }) => raw === "null");
  return nothing === undefined ? null : { ...left, operator: equal.slice(0, 2), right: nothing };
}

/** `x === "a" || x === "b"` of `["a", "b"].includes(x)`; null for anything else. */
function oneOf({ start, end, arguments: given }: Node, list: Node): Node | null {
  const [value, ...more] = given as Node[];
  const all = (list["elements"] as (Node | null)[]).map((one) => one && bare(one));
  const isFixed = all.every((one) => one?.type === "Literal" && one["regex"] === undefined);
  if (value === undefined || more.length > 0 || all.length === 0 || !isFixed || !isStill(bare(value))) return null;
  const tests = all.map((right): Node => ({ type: "BinaryExpression", start, end, operator: "===", left: value, right }));
  return tests.reduce((left, right): Node => ({ type: "LogicalExpression", start, end, operator: "||", left, right }));
}

/** An expression in the other way of writing it; null where there is none. */
export function sameExpression(node: Node, names: Names, form: (node: Node) => string): Node | null {
  if (node.type === "LogicalExpression") return nullish(node, names, form);
  if (node.type === "CallExpression") {
    const callee = bare(node["callee"] as Node);
    const list = callee.type === "MemberExpression" && keyIn(callee) === "includes" ? bare(callee["object"] as Node) : null;
    if (list?.type === "ArrayExpression") return oneOf(node, list);
    const name = callee.type === "MemberExpression" && callee["computed"] !== true ? ALIAS.get(keyIn(callee) ?? "") : undefined;
    if (name === undefined || !isDecimal(callee["object"] as Node, names)) return null;
    return { ...node, callee: { ...callee, property: { ...(callee["property"] as Node), name } } };
  }
  if (node.type !== "ConditionalExpression") return null;
  // `a == null ? b : a` is `a ?? b`, and `a ? a : b` is `a || b`.
  const test = bare(node["test"] as Node);
  const isLoose = /^[!=]=$/.test(String(test["operator"])) && bare(test["right"] as Node)["raw"] === "null";
  const value = isLoose ? (test["left"] as Node) : test;
  const [yes, no] = [node["consequent"] as Node, node["alternate"] as Node];
  const [same, right] = isLoose && test["operator"] === "==" ? [no, yes] : [yes, no];
  if (!isStill(value) || form(value) !== form(same)) return null;
  return { ...node, type: "LogicalExpression", operator: isLoose ? "??" : "||", left: value, right };
}
