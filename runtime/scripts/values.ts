/**
 * Which expressions of a script a name or a field of it may have its value from: declarations, assignments, arguments of the script's own
 * functions, elements given to a callback, and what is added to a list, a map or an object. More than it has, rather than less.
 */
import { calleeOf, methodOf } from "./forms.ts";
import { type Names, isAssign } from "./names.ts";
import { type Node, bare, boundIn, isFunction, literalText, nameOf, rootOf, within } from "./syntax.ts";

/** An expression, and the way from it to the value: `const { a } = x` gives `a` the value of `x` at `a`. */
interface Source {
  value: Node;
  way: readonly string[];
}

export interface Values {
  /** By a name's id. */
  sources: ReadonlyMap<string, readonly Source[]>;
  added: ReadonlyMap<string, readonly Node[]>;
  /** Ids of parameters. */
  params: ReadonlySet<string>;
  /** The expressions that a source stands for; with `whole` one that cannot be looked into stands for its parts. */
  at(source: Source): Node[];
  /** Those of a field; of any when null. */
  fieldsOf(node: Node, name: string | null, whole: boolean): Node[];
  /** What a call of the script's own function may answer. */
  answersOf(call: Node): Node[];
  /** Where a call is made: for one in a function of the script, the calls of that. */
  madeAt(call: Node): Node[];
}

/** A chain of names longer than this is nobody's, and would exhaust the stack. */
const DEEPEST = 500;
/** Any element of a list. */
const EACH_WAY = "*";
const isIndex = (name: string | null): boolean => name === null || name === EACH_WAY || /^\d+$/.test(name);
/** Methods that call a function with each element of their list. */
const EACH = /^(?:forEach|map|flatMap|filter|find|findLast|some|every|reduce|reduceRight)$/;
/** Methods by which a list, map or set gets its arguments. */
const ADDS = /^(?:push|unshift|splice|fill|set|add)$/;

export function valuesOf(nodes: readonly Node[], sites: ReadonlyMap<Node, number>, { ids, fixed }: Names): Values {
  const sources = new Map<string, Source[]>();
  const added = new Map<string, Node[]>();
  /** `name`: of the field that gets it; null when any may. */
  const fields = new Map<string, { name: string | null; value: Node; isSpread: boolean }[]>();
  const params = new Set<string>();
  let deep = 0;
  const answered = new Map<string, Node[]>();
  const idOf = (node: Node): string => ids.get(node) ?? (node["name"] as string);
  const put = <T>(map: Map<string, T[]>, id: string, one: T) => map.set(id, [...(map.get(id) ?? []), one]);
  const give = (pattern: Node, value: Node, way: readonly string[] = []): void => {
    for (const { node, way: inner } of boundIn(pattern))
      put(sources, idOf(node), { value, way: [...way, ...inner.split(".").filter((part) => part !== "")] });
  };
  /** The functions of the script that an expression may be. */
  function functionsOf(node: Node, left = 6): Node[] {
    const one = bare(node);
    if (isFunction(one)) return [one];
    const known = one.type === "Identifier" ? fixed.get(idOf(one)) : undefined;
    if (known !== undefined && isFunction(known)) return [known];
    if (left === 0 || !/^(?:Identifier|MemberExpression|CallExpression)$/.test(one.type)) return [];
    const from =
      one.type === "Identifier"
        ? (sources.get(idOf(one)) ?? []).flatMap(at)
        : one.type === "MemberExpression"
          ? fieldsOf(one["object"] as Node, keyOf(one), false)
          : functionsOf(one["callee"] as Node, left - 1).flatMap(returnedBy);
    return from.flatMap((each) => functionsOf(each, left - 1));
  }
  for (const node of nodes) read(node);
  for (const node of nodes) if (node.type === "CallExpression") readCall(node);
  // What is added under one name of a list is in it under the others.
  for (const [id, all] of sources)
    for (const { value, way } of all)
      if (way.length === 0 && bare(value).type === "Identifier")
        for (const each of fields.get(id) ?? []) addTo(bare(value), each.value, each.name, each.isSpread);
  answered.clear();

  function read(node: Node): void {
    const args = ((node["arguments"] ?? []) as Node[]).map(bare);
    if (node.type === "VariableDeclarator" && node["init"]) give(node["id"] as Node, node["init"] as Node);
    if (node.type === "ForOfStatement" && (node["left"] as Node).type === "VariableDeclaration")
      give(((node["left"] as Node)["declarations"] as Node[])[0]?.["id"] as Node, node["right"] as Node, [EACH_WAY]);
    if (isFunction(node)) for (const param of node["params"] as Node[]) for (const { node: one } of boundIn(param)) params.add(idOf(one));
    if (node.type === "AssignmentPattern") give(node["left"] as Node, node["right"] as Node);
    if (node.type === "AssignmentExpression") {
      const left = bare(node["left"] as Node);
      const root = left.type === "MemberExpression" ? rootOf(left, false) : undefined;
      if (root === undefined) give(left, node["right"] as Node);
      else addTo(root, node["right"] as Node, bare(left["object"] as Node) === root ? keyOf(left) : null);
    }
    if (node.type !== "CallExpression") return;
    const object = bare(node["callee"] as Node)["object"] as Node | undefined;
    const method = methodOf(node);
    if (isAssign(node)) {
      const root = args[0] && rootOf(args[0], false);
      if (root !== undefined) for (const value of args.slice(1)) addTo(root, value, null, true);
    } else if (object !== undefined && ADDS.test(method)) {
      const root = rootOf(object, false);
      const name = method === "set" ? (literalText(args[0]) ?? null) : EACH_WAY;
      if (root !== undefined) for (const value of args) addTo(root, value, name);
    }
  }

  /** Names of parameters, from the arguments and from the list whose elements a callback is given. */
  function readCall(node: Node): void {
    const args = node["arguments"] as Node[];
    const list = { type: "ArrayExpression", start: node.start, end: node.end, elements: args };
    const isSpread = args.some((one) => one.type === "SpreadElement");
    for (const own of functionsOf(node["callee"] as Node))
      for (const [i, param] of (own["params"] as Node[]).entries())
        if (param.type === "RestElement") give(param["argument"] as Node, { ...list, elements: args.slice(i) } as Node);
        else if (isSpread) give(param, list, [String(i)]);
        else if (args[i] !== undefined) give(param, args[i]);
    const object = bare(node["callee"] as Node)["object"] as Node | undefined;
    const method = methodOf(node);
    const [of, taking] = method === "from" ? args : [object, args[0]];
    if (of === undefined || taking === undefined || !(EACH.test(method) || method === "from")) return;
    for (const callback of functionsOf(taking)) {
      const taken = (callback["params"] as Node[])[/^reduce/.test(method) ? 1 : 0];
      if (taken !== undefined) give(taken, of, [EACH_WAY]);
    }
  }

  function addTo(root: Node, value: Node, name: string | null, isSpread = false): void {
    put(added, idOf(root), value);
    put(fields, idOf(root), { name, value, isSpread });
  }

  function at({ value, way }: Source): Node[] {
    return way.reduce((all, name) => all.flatMap((one) => fieldsOf(one, name.replace("...", ""), true)), [value]);
  }

  /** Each question is answered once: a name whose value is made of itself adds nothing to it. */
  function fieldsOf(node: Node, name: string | null, whole: boolean): Node[] {
    const one = bare(node);
    const key = `${one.type === "Identifier" ? idOf(one) : `${one.type} ${one.start} ${one.end}`} ${name} ${whole}`;
    const known = answered.get(key);
    if (known !== undefined) return known;
    answered.set(key, []);
    deep += 1;
    const found = deep > DEEPEST ? [] : [...new Set(lookedUp(one, name, whole))];
    deep -= 1;
    answered.set(key, found);
    return found;
  }

  function lookedUp(one: Node, name: string | null, whole: boolean): Node[] {
    const more = (part: unknown): Node[] => fieldsOf(part as Node, name, whole);
    switch (one.type) {
      case "Identifier": {
        const given = (sources.get(idOf(one)) ?? []).flatMap((source) => at(source).flatMap(more));
        const put = (fields.get(idOf(one)) ?? []).filter(
          (each) => each.isSpread || name === null || each.name === null || each.name === name || (isIndex(name) && isIndex(each.name)),
        );
        return [...given, ...put.flatMap((each) => (each.isSpread ? more(each.value) : [each.value]))];
      }
      case "ObjectExpression":
        return (one["properties"] as Node[]).flatMap((each) =>
          each.type === "SpreadElement"
            ? more(each["argument"])
            : name === null || name === EACH_WAY || (nameOf(each) ?? name) === name
              ? [each["value"] as Node]
              : [],
        );
      case "ArrayExpression": {
        const all = one["elements"] as (Node | null)[];
        const isPlain = name !== null && /^\d+$/.test(name) && !all.some((each) => each?.type === "SpreadElement");
        const wanted = isPlain ? [all[Number(name)] ?? null] : all;
        return wanted.flatMap((each) => (each === null ? [] : each.type === "SpreadElement" ? more(each["argument"]) : [each]));
      }
      case "ConditionalExpression":
      case "LogicalExpression":
        return ["left", "right", "consequent", "alternate"].flatMap((side) => (one[side] ? more(one[side]) : []));
      case "ChainExpression":
        return more(one["expression"]);
      case "MemberExpression":
        return fieldsOf(one["object"] as Node, keyOf(one), whole).flatMap(more);
      case "CallExpression":
      case "NewExpression": {
        const isMade = one.type === "NewExpression" && !/^(?:Map|Set)$/.test(calleeOf(one));
        if (sites.has(one) || isMade) return whole ? [one] : [];
        const answers = answersOf(one);
        const callee = bare(one["callee"] as Node);
        if (functionsOf(callee).length > 0) return answers.flatMap(more);
        if (calleeOf(one) === "Object.entries" && isIndex(name))
          return (one["arguments"] as Node[])
            .flatMap((each) => fieldsOf(each, null, whole))
            .map((value) => ({ type: "ArrayExpression", start: value.start, end: one.end, elements: [null, value] }));
        const from = [...(callee.type === "MemberExpression" ? [callee["object"]] : []), ...(one["arguments"] as Node[])] as Node[];
        return [
          ...from.filter((each) => functionsOf(each).length === 0).flatMap(more),
          ...(isIndex(name) ? answers : answers.flatMap(more)),
        ];
      }
      default:
        return whole ? [one] : [];
    }
  }

  function answersOf(call: Node): Node[] {
    const own = functionsOf(call["callee"] as Node);
    return (own.length > 0 ? own : (call["arguments"] as Node[]).flatMap((each) => functionsOf(each))).flatMap(returnedBy);
  }

  function madeAt(call: Node, seen: ReadonlySet<Node> = new Set()): Node[] {
    const around = [...fixed].filter(([, one]) => isFunction(one) && one.start <= call.start && call.end <= one.end);
    const [nearest] = around.sort(([, a], [, b]) => b.start - a.start);
    if (nearest === undefined || seen.has(call)) return [call];
    const calls = nodes.filter((one) => one.type === "CallExpression" && functionsOf(one["callee"] as Node).includes(nearest[1]));
    return calls.length === 0 ? [call] : calls.flatMap((one) => madeAt(one, new Set([...seen, call])));
  }

  return { sources, added, params, at, fieldsOf, answersOf, madeAt };
}

/** The key of a member; null when it is computed. */
function keyOf(member: Node): string | null {
  const key = member["property"] as Node;
  if (member["computed"] !== true) return key["name"] as string;
  return key.type === "Literal" ? String(key["value"]) : literalText(key);
}

/** What a function may return. */
function returnedBy(node: Node): Node[] {
  const code = node["body"] as Node;
  if (code.type !== "BlockStatement") return [code];
  return [...within(code)].flatMap((one) => (one.type === "ReturnStatement" && one["argument"] ? [one["argument"] as Node] : []));
}

/** Names that a node gives a value to: of a declaration, or of each element of a list; `element`: the way from the list to one of them. */
export function givenIn(node: Node): [names?: Node | undefined, value?: Node, element?: string] {
  if (node.type === "VariableDeclarator" && node["init"]) return [node["id"] as Node, node["init"] as Node];
  if (node.type === "ForOfStatement" && (node["left"] as Node).type === "VariableDeclaration")
    return [((node["left"] as Node)["declarations"] as Node[])[0]?.["id"] as Node, node["right"] as Node, ".0"];
  if (node.type !== "CallExpression" || !EACH.test(methodOf(node))) return [];
  const [callback] = (node["arguments"] as Node[]).map(bare);
  if (callback === undefined || !isFunction(callback)) return [];
  const names = (callback["params"] as Node[])[/^reduce/.test(methodOf(node)) ? 1 : 0];
  return [names, bare(node["callee"] as Node)["object"] as Node, ".0"];
}
