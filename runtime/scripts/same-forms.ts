/**
 * Equal meanings in different notations, for forms (forms.ts): widths of steps, loops by an index, elements of a list that have their
 * own name, a comparison and its opposite. Each only where no other meaning is possible.
 */
import type { Names } from "./names.ts";
import { type Node, bare, literalText, within } from "./syntax.ts";

/** True for a number literal. */
export const number = (node: Node): boolean => node.type === "Literal" && typeof node["value"] === "number";

/** Keys of texts shown to a person beside an act: listed as values, but not part of the act. */
export const SHOWN = /^(?:title|question|details|subject)$/;

/** The name in `a.name`, which is `a["name"]`; null for any other key. */
export function keyIn(member: Node): string | null {
  const property = member["property"] as Node;
  if (member["computed"] !== true) return String(property["name"]);
  const text = literalText(property);
  return text !== null && /^[a-z_$][\w$]*$/i.test(text) ? text : null;
}

const EQUALITY: Record<string, string> = { "===": "!==", "!==": "===", "==": "!=", "!=": "==" };

/** `a !== b` for `a === b` and the other way round; null for anything else. */
export function notEqual(node: Node): Node | null {
  const operator = node.type === "BinaryExpression" ? EQUALITY[String(node["operator"])] : undefined;
  return operator === undefined ? null : ({ ...node, operator } as Node);
}

const isPlain = (node: Node): boolean => node.type === "Literal" || (node.type === "Identifier" && node["name"] === "undefined");
const MIRRORED: Record<string, string> = { "<": ">", "<=": ">=" };

/** A normalised comparison: the larger side first; for a length only whether it is zero. `left` null: tests whether `right` is empty. */
export function compared(node: Node): [left: Node | null, operator: string, right: Node] {
  const [left, right, operator] = [bare(node["left"] as Node), bare(node["right"] as Node), String(node["operator"])];
  const isLength = left.type === "MemberExpression" && (left["property"] as Node)["name"] === "length";
  const than = isLength && right.type === "Literal" ? `${operator.replace("==", "=")}${String(right["raw"])}` : "";
  if (/^(?:==0|<1)$/.test(than)) return [null, "empty", left];
  if (/^(?:!=0|!==0|>0|>=1)$/.test(than)) return [null, "filled", left];
  const other = MIRRORED[operator] ?? (/^[!=]==?$/.test(operator) && isPlain(left) && !isPlain(right) ? operator : undefined);
  return other === undefined ? [left, operator, right] : [right, other, left];
}

/** The lists of statements in these nodes. */
export function* listsIn(body: readonly Node[]): Generator<readonly Node[]> {
  yield body;
  for (const node of body.flatMap((one) => [...within(one)])) if (node.type === "BlockStatement") yield node["body"] as Node[];
}

const DOES = /Call|New|Function|Assignment|Update/;

/**
 * `const a = {...}; f([a], { ...a })`: an object without calls, or a list, that is used once counts as written where it is used. Only
 * within one list of statements, where every name in it means the same.
 */
export function markElements(
  statements: readonly Node[],
  { ids, changed }: Names,
  isUsedOnce: (id: string) => boolean,
  found: Map<string, Node>,
): void {
  const known = new Map<string, Node>();
  const parts = statements.flatMap((one) =>
    one.type === "VariableDeclaration" && one["kind"] === "const" ? (one["declarations"] as Node[]) : [one],
  );
  for (const part of parts) {
    for (const { type, elements, properties } of within(part))
      for (const one of (type === "ArrayExpression" ? elements : type === "ObjectExpression" ? properties : []) as (Node | null)[]) {
        const isSpread = one?.type === "SpreadElement";
        const inner = one && bare(isSpread ? (one["argument"] as Node) : one);
        const name = (inner && ids.get(inner)) ?? "";
        const isFit = isSpread ? known.get(name)?.type === type : known.get(name)?.type === "ObjectExpression";
        if (isFit) found.set(name, known.get(name) as Node);
      }
    const { id, init = null } = part as unknown as { id?: Node; init?: Node | null };
    if (id === undefined || init === null) continue;
    const value = bare(init);
    const isList = value.type === "ArrayExpression";
    const isPlain =
      (isList || value.type === "ObjectExpression") &&
      ![...within(value)].some((one) => DOES.test(one.type) || changed.has(ids.get(one) ?? ""));
    const name = ids.get(id);
    if (isPlain && name !== undefined && isUsedOnce(name)) known.set(name, value);
  }
}

/** `for (let i = 0; i < list.length; i++) … list[i]`, where i is used for nothing else: visits each element. */
export function markIndex(loop: Node, indexed: Map<Node, Node>, taken: Map<Node, Node>): void {
  const { init, test, update } = loop as unknown as Record<string, Node | null>;
  const [only, ...more] = init?.type === "VariableDeclaration" ? (init["declarations"] as Node[]) : [];
  const index = only?.["id"] as Node | undefined;
  const name = index?.["name"];
  const isIndex = (node: unknown) => (node as Node | undefined)?.type === "Identifier" && (node as Node)["name"] === name;
  const length =
    test?.type === "BinaryExpression" && test["operator"] === "<" && isIndex(test["left"]) ? bare(test["right"] as Node) : null;
  const list =
    length?.type === "MemberExpression" && (length["property"] as Node)["name"] === "length" ? bare(length["object"] as Node) : null;
  const begins = only !== undefined && (only["init"] as Node | null)?.["value"] === 0 && more.length === 0;
  const steps = update?.type === "UpdateExpression" && update["operator"] === "++" && isIndex(update["argument"]);
  if (!begins || !steps || index === undefined || list?.type !== "Identifier") return;
  const inside = [...within(loop["body"] as Node)];
  const items = inside.filter(
    (node) =>
      node.type === "MemberExpression" &&
      node["computed"] === true &&
      isIndex(node["property"]) &&
      (node["object"] as Node)["name"] === list["name"],
  );
  if (inside.filter(isIndex).length !== items.length || items.length === 0) return;
  // A list that changes during the loop, or whose items are assigned, is not simply visited in order.
  const named = inside.filter((node) => node.type === "Identifier" && node["name"] === list["name"]).length;
  const isSet = inside.some(
    (node) => /^(?:Assignment|Update)Expression$/.test(node.type) && items.includes(bare((node["left"] ?? node["argument"]) as Node)),
  );
  if (named !== items.length || isSet) return;
  indexed.set(loop, list);
  for (const item of items) taken.set(item, index);
}

/** `for (let start = 0; …; start += 1000) … rows.slice(start, start + 1000)`: equal widths in any position. */
export function markSteps(loop: Node, numberOf: (name: Node) => Node | undefined, steps: Map<Node, number>): void {
  const update = loop["update"] as Node | null;
  if (update?.type !== "AssignmentExpression" || update["operator"] !== "+=") return;
  const widthOf = (node: Node): number | null => {
    const found = number(node) ? node : numberOf(node);
    return found === undefined ? null : (found["value"] as number);
  };
  const counter = (update["left"] as Node)["name"];
  const width = bare(update["right"] as Node);
  const taken = [...within(loop["body"] as Node)].flatMap((node) => {
    if (node.type !== "BinaryExpression" || node["operator"] !== "+" || (node["left"] as Node)["name"] !== counter) return [];
    const right = bare(node["right"] as Node);
    return widthOf(right) !== null && widthOf(right) === widthOf(width) ? [right] : [];
  });
  if (taken.length > 0) for (const node of [width, ...taken]) steps.set(node, widthOf(node) ?? 0);
}

/** The parts joined to a text, by `+` or in a template; null for anything else. */
export function joined(node: Node): Node[] | null {
  if (node.type === "TemplateLiteral") {
    const [quasis, values] = [node["quasis"] as Node[], node["expressions"] as Node[]];
    const isEmpty = (one: Node) => (one["value"] as { cooked: string | null }).cooked === "";
    return quasis.flatMap((one, i) => [...(isEmpty(one) ? [] : [one]), ...values.slice(i, i + 1)]);
  }
  if (node["operator"] !== "+") return null;
  const [left, right] = [bare(node["left"] as Node), bare(node["right"] as Node)];
  const before = left.type === "BinaryExpression" ? joined(left) : null;
  const isText = (one: Node) => literalText(one) !== null || one.type === "TemplateLiteral";
  return before === null && !isText(left) && !isText(right) ? null : [...(before ?? [left]), right];
}
