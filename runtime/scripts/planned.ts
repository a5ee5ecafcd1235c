/**
 * Values that a script planned for a call and uses after the gate that asked for that call, when a person may have changed it.
 * Returned as data with their key in the call, and whether they are facts: given with the run, or read. A value passed to a script
 * that builds the calls is planned too; a value under `planned:` after the gate is named so on purpose.
 */
import type { Compiled } from "../kernel/ports.ts";
import { calleeOf, methodOf } from "./forms.ts";
import { type Names, isAssign } from "./names.ts";
import { type Node, bare, boundIn, isFunction, literalText, nameOf, readIn, rootOf, valueIn, within } from "./syntax.ts";

export type Planned = NonNullable<Compiled["planned"]>[number];

const DEEPEST = 6;
/** Any field of this value: the whole of it is in the call. */
const ANY = "*";
/** Fields of planned calls that no person changes. */
const KEPT = /^(?:length|tool)$/;
/** Methods and functions whose answer is their value in another form. */
const FORMATS =
  /^(?:toFixed|toString|trim|concat|join|padStart|padEnd|String|JSON\.stringify|structuredClone|Object\.(?:freeze|values|entries))$/;
/** Methods that return parts of their list; their arguments are no elements. */
const PARTS = /^(?:filter|slice|flat|reverse|sort|toSorted|toReversed|concat|with)$/;

/** Primitives whose answer is made of what they are given. */
const MAKES = /^(?:compute_.*|script_run)$/;
/** Methods that call a function with each element of their list. */
const EACH = /^(?:forEach|map|flatMap|filter|find|findLast|some|every|reduce|reduceRight)$/;
/** Those of them that answer whole elements. */
const WHOLE = /^(?:filter|find|findLast)$/;

/** In source order. sites: the calls of primitives, by node. text: the script. */
export function plannedOf(
  body: readonly Node[],
  sites: ReadonlyMap<Node, number>,
  { ids, fixed, given: values }: Names,
  at: (offset: number) => Planned["at"],
  text: string,
): Planned[] {
  const nodes = body.flatMap((one) => [...within(one)]);
  const aliases = new Map<string, string>();
  // Computations whose results the calls of a gate have: written again after it, they answer the same.
  const remade = new Map<string, string>();
  const written = (node: Node) => text.slice(node.start, node.end).replace(/\s+/g, "");
  addAliases();
  const added = addedIn();
  const [assessed, acting] = assessedIn([...sites.keys()]);
  return [...sites.keys()].flatMap((gate) => {
    const calls = callsAskedFor(gate);
    if (calls === null) return [];
    // By place, `pay` or `pay.amount`: the key under which the calls have it.
    const planned = new Map<string, string>();
    remade.clear();
    collect(calls, null, DEEPEST, { planned, before: gate.start, seen: new Set() });
    const formatted = addDerived(planned, gate.start);
    return body.flatMap((node) => [...usesIn(node, planned, { after: gate.end, formatted })]);
  });

  /** The places whose values the calls have. key: of this value in `params`; null outside of them. */
  function collect(
    node: Node,
    key: string | null,
    depth: number,
    into: { planned: Map<string, string>; before: number; seen: Set<string> },
  ): void {
    const { planned, before, seen } = into;
    const one = bare(node);
    const also = (part: unknown, under = key, deeper = depth) => collect(part as Node, under, deeper, into);
    const place = placeOf(one);
    if (place !== null) {
      planned.set(place, key ?? ANY);
      const look = `${place} ${key}`;
      if (one.type !== "Identifier" || depth === 0 || seen.has(look)) return;
      seen.add(look);
      for (const value of [...(values.get(idOf(one)) ?? []), ...(added.get(idOf(one)) ?? [])])
        if (value.end < before) also(value, key, depth - 1);
    } else if (one.type === "ObjectExpression") {
      for (const each of one["properties"] as Node[]) {
        const name = nameOf(each);
        if (each.type === "SpreadElement") also(each["argument"], key === null ? null : ANY);
        else if (key !== null) also(each["value"], name ?? ANY);
        else if (name === "params") also(each["value"], ANY);
      }
    } else if (one.type === "ArrayExpression") {
      for (const each of one["elements"] as (Node | null)[]) if (each !== null) also(each["argument"] ?? each);
    } else if (one.type === "ConditionalExpression" || one.type === "LogicalExpression") {
      for (const side of ["left", "right", "consequent", "alternate"]) if (one[side]) also(one[side]);
    } else if (one.type === "CallExpression" && sites.has(one)) {
      if (MAKES.test(calleeOf(one))) remade.set(written(one), key ?? ANY);
      // An answer of a primitive is not a plan of this script; a value passed to another script that makes the calls is.
      if (key === null && depth >= DEEPEST - 1 && calleeOf(one) === "script_run")
        for (const passed of one["arguments"] as Node[]) also(passed, ANY, 0);
    } else if (one.type === "CallExpression") {
      const [callee, name] = [bare(one["callee"] as Node), methodOf(one) || calleeOf(one)];
      if (callee.type === "MemberExpression" && (PARTS.test(name) || FORMATS.test(name))) also(callee["object"]);
      const made = callee.type === "Identifier" && depth > 0 ? [...(values.get(idOf(callee)) ?? []), fixed.get(idOf(callee))] : [];
      for (const each of [...(one["arguments"] as Node[]), ...made])
        if (each !== undefined && isFunction(bare(each))) for (const end of returnedBy(bare(each))) also(end, key, depth - 1);
        else if (each !== undefined && (name === "concat" || /^(?:String|structuredClone|Object\.freeze)$/.test(name))) also(each);
    } else if (one.type === "MemberExpression") also(one["object"]);
    else if (key === null) for (const child of valuesIn(one)) also(child);
  }

  /**
   * A value computed or composed from planned values before the gate is as stale as they are, and so is a function that reads them. Of facts
   * only other forms of them are. Returns the names of those.
   */
  function addDerived(planned: Map<string, string>, before: number): Set<string> {
    const formatted = new Set<string>();
    const named = [...values, ...[...fixed].filter(([name]) => !values.has(name)).map(([name, one]) => [name, [one]] as const)];
    // A chain in the order of the text takes one pass; one against it is followed for some steps.
    for (let size = -1, passes = 0; size !== planned.size && passes < DEEPEST; passes++) {
      size = planned.size;
      for (const [name, given] of named) {
        if (planned.has(name)) continue;
        const made = [...given, ...(added.get(name) ?? [])].filter((one) => one.end < before);
        const from = made.flatMap((one) => [...usesIn(one, planned, { after: 0, formatted })]).find(({ fact }) => fact !== true);
        const form = made.flatMap((one) => [...usesIn(one, planned, { after: 0, formatted, forms: true })])[0];
        if (from === undefined && form !== undefined) formatted.add(name);
        const { key } = from ?? form ?? {};
        if (key !== undefined) planned.set(name, key);
      }
    }
    return formatted;
  }

  /** `forms`: only where the value stays what it is, in another form. `formatted`: names of such forms of facts. */
  function* usesIn(
    node: Node,
    planned: ReadonlyMap<string, string>,
    look: { after: number; formatted: ReadonlySet<string>; forms?: true },
  ): Generator<Planned> {
    const place = placeOf(node);
    if (place !== null) {
      const [root = ""] = place.split(".");
      const key = node.start < look.after || isRenewed(root, look.after, node.start) ? null : plannedKey(place, planned);
      const fact = isFact(root) || look.formatted.has(root);
      if (key !== null) yield { name: placeOf(node, false) ?? "", key, at: at(node.start), ...(fact ? { fact } : {}) };
      return;
    }
    const again = look.after > 0 && node.start > look.after && sites.has(node) ? remade.get(written(node)) : undefined;
    if (again !== undefined) return yield { name: calleeOf(node), key: again, at: at(node.start) };
    // What another primitive answers about a planned value is not made of it.
    if (look.after === 0 && sites.has(node) && !MAKES.test(calleeOf(node))) return;
    if (look.forms === true && node.type === "CallExpression" && !FORMATS.test(methodOf(node) || calleeOf(node))) return;
    // What a comparison answers is no figure.
    if (ANSWERS.test(String(node["operator"])) || (node.type === "Property" && nameOf(node) === "planned")) return;
    const unsaid = [
      // A condition, the fallback for a call that was not made, the name that a value is given to.
      ...(/^(?:If|While|DoWhile)Statement$|^(?:Conditional|For)/.test(node.type) ? [node["test"]] : []),
      ...(node["operator"] === "??" ? [node["right"]] : []),
      ...(node.type === "AssignmentExpression" && bare(node["left"] as Node).type === "Identifier" ? [node["left"]] : []),
    ];
    const method = node.type === "CallExpression" ? bare(node["callee"] as Node) : null;
    // Of a list whose elements are given to a function, what that uses of them.
    const [names, list] = method === null || WHOLE.test(methodOf(node)) ? [] : givenIn(node);
    const isUsedByName = names !== undefined && list !== undefined && placeOf(list) !== null;
    for (const child of valuesIn(node)) {
      const isMethod = bare(child) === method && method.type === "MemberExpression";
      if (!unsaid.includes(child) && !(isMethod && isUsedByName))
        yield* usesIn(isMethod ? (method["object"] as Node) : child, planned, look);
    }
  }

  /** A name that was given another value since the gate. */
  function isRenewed(root: string, after: number, use: number): boolean {
    return after > 0 && (values.get(root) ?? []).some((one) => one.start > after && one.end <= use);
  }

  /** The key in the calls of what is at this place, of the value it is a part of, or of its part; null if they have none. */
  function plannedKey(place: string, planned: ReadonlyMap<string, string>): string | null {
    const way = place.split(".");
    for (let length = way.length; length > 0; length -= 1) {
      const key = planned.get(way.slice(0, length).join("."));
      if (key === undefined) continue;
      const field = way.slice(length).findLast((part) => /\D/.test(part)) ?? key;
      return KEPT.test(field) ? null : field;
    }
    const part = [...planned].find(([one]) => one.startsWith(`${place}.`) && !isFact(one.split(".")[0] ?? ""));
    return part === undefined ? null : part[1];
  }

  function isFact(root: string): boolean {
    return root === "input" || isGiven(values.get(root), DEEPEST);
  }

  /** True for a value that cannot be a plan: given with the run, read, or a boolean that follows from it. */
  function isGiven(given: readonly Node[] = [], depth: number): boolean {
    const plain = (node: Node): boolean => {
      const one = bare(node);
      const callee = siteOf(one) ?? "";
      if (one.type === "Identifier") return idOf(one) === "input" || (depth > 0 && isGiven(values.get(idOf(one)), depth - 1));
      if (one.type === "MemberExpression") return plain(one["object"] as Node);
      if (one.type === "LogicalExpression") return plain(one["left"] as Node) && plain(one["right"] as Node);
      if (callee === "script_run") return one.start > assessed && one.start < acting;
      return READS.test(callee) || ANSWERS.test(String(one["operator"]));
    };
    return given.length > 0 && given.every(plain);
  }

  /** An identifier's id; for one that the script does not declare, such as `input`, its text. */
  function idOf(node: Node): string {
    return ids.get(node) ?? (node["name"] as string);
  }

  /** The primitive that a node calls, or null. */
  function siteOf(node: Node): string | null {
    return sites.has(node) ? calleeOf(node) : null;
  }

  /** `amount`, `pay.amount` or `calls.0.params.amount`; null for what is not a name or a part of one. aliased: by the name it was taken from. */
  function placeOf(node: Node, aliased = true): string | null {
    const one = bare(node);
    if (one.type === "Identifier") return aliased ? (aliases.get(idOf(one)) ?? idOf(one)) : (one["name"] as string);
    if (one.type !== "MemberExpression") return null;
    const object = placeOf(one["object"] as Node, aliased);
    const key = one["property"] as Node;
    const name = one["computed"] !== true ? (key["name"] as string) : key.type === "Literal" ? String(key["value"]) : null;
    return object === null || name === null ? null : `${object}.${name}`;
  }

  /** `const { amount } = pay`, `for (const one of calls)`, `calls.forEach((one) => ...)`: the place that each name stands for. */
  function addAliases(): void {
    for (const node of nodes) {
      const [names, value, element] = givenIn(node);
      const from = value && placeOf(value);
      if (names === undefined || !from) continue;
      for (const { node: bound, way } of boundIn(names))
        if (!way.includes("...") && (values.get(idOf(bound)) ?? []).length === (element === undefined ? 1 : 0))
          aliases.set(idOf(bound), `${from}${element ?? ""}${way}`);
    }
  }

  /** `list.push(x)`, `pay.amount = x` and `Object.assign(pay, x)`: the values that each name gets that way. */
  function addedIn(): Map<string, Node[]> {
    const found = new Map<string, Node[]>();
    for (const node of nodes) {
      const isPush = node.type === "CallExpression" && /^(?:push|unshift)$/.test(methodOf(node));
      const [target, ...rest] = isAssign(node) ? (node["arguments"] as Node[]) : [];
      const into = isPush ? bare(node["callee"] as Node) : node.type === "AssignmentExpression" ? bare(node["left"] as Node) : null;
      const root = target !== undefined ? rootOf(target, false) : into?.type === "MemberExpression" ? rootOf(into, false) : undefined;
      const more = isPush ? (node["arguments"] as Node[]) : target === undefined ? [node["right"] as Node] : rest;
      if (root !== undefined) found.set(idOf(root), [...(found.get(idOf(root)) ?? []), ...more]);
    }
    return found;
  }
}

/** Names that a node gives a value to: of a declaration, or of each element of a list; `element`: the way from the list to one of them. */
function givenIn(node: Node): [names?: Node | undefined, value?: Node, element?: string] {
  if (node.type === "VariableDeclarator" && node["init"]) return [node["id"] as Node, node["init"] as Node];
  if (node.type === "ForOfStatement" && (node["left"] as Node).type === "VariableDeclaration")
    return [((node["left"] as Node)["declarations"] as Node[])[0]?.["id"] as Node, node["right"] as Node, ".0"];
  if (node.type !== "CallExpression" || !EACH.test(methodOf(node))) return [];
  const [callback] = (node["arguments"] as Node[]).map(bare);
  if (callback === undefined || !isFunction(callback)) return [];
  const names = (callback["params"] as Node[])[/^reduce/.test(methodOf(node)) ? 1 : 0];
  return [names, bare(node["callee"] as Node)["object"] as Node, ".0"];
}

/** What a function may return. */
function returnedBy(node: Node): Node[] {
  const code = node["body"] as Node;
  if (code.type !== "BlockStatement") return [code];
  return [...within(code)].flatMap((one) => (one.type === "ReturnStatement" && one["argument"] ? [one["argument"] as Node] : []));
}

/** The part of the script in ASSESS, which allows reads and nothing that acts: what a sub-script answers there is read too. */
function assessedIn(calls: readonly Node[]): [from: number, to: number] {
  const enters = calls.filter((one) => calleeOf(one) === "fsm_enter").sort((a, b) => a.start - b.start);
  const stateOf = (one: Node) => literalText(bare((one["arguments"] as Node[])[0] ?? one));
  const first = enters.findIndex((one) => stateOf(one) === "ASSESS");
  return first < 0 ? [0, 0] : [enters[first]?.start ?? 0, enters[first + 1]?.start ?? Number.POSITIVE_INFINITY];
}

/** Operators whose answer is a boolean or a type. */
const ANSWERS = /^(?:[=!]==?|[<>]=?|!|typeof|in|instanceof)$/;
const READS = /^(?:mcp_(?:call|record|fetch_all|try)|data_(?:first|read)|config_get|ctx_today)$/;

/** The calls that a call of approval_wait, or of a script that asks, names; null when there are none, or when nobody may change them. */
function callsAskedFor(gate: Node): Node | null {
  if (!["approval_wait", "script_run"].includes(calleeOf(gate))) return null;
  const named = (gate["arguments"] as Node[]).map(bare).filter((one) => one.type === "ObjectExpression");
  const [fixed, calls] = ["fixed", "calls"].map((name) => named.flatMap((one) => valueIn(one, name) ?? [])[0]);
  return fixed?.type === "Literal" && fixed["value"] === true ? null : (calls ?? null);
}

/** Children that are read, without names that are being declared. */
const valuesIn = (node: Node): Node[] => {
  const declared = isFunction(node) ? (node["params"] as Node[]) : node.type === "VariableDeclarator" ? [node["id"]] : [];
  return [...readIn(node)].filter((child) => !declared.includes(child));
};
