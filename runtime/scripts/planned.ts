/**
 * Values that a script planned for a call and uses after the gate that asked for that call, when a person may have changed it.
 * Returned as data with their key in the call, and whether they are facts: given with the run, or read. A value passed to a script
 * that builds the calls is planned too; a value under `planned:` after the gate is named so on purpose. Where the calls come from is in values.ts.
 */
import type { Compiled } from "../kernel/ports.ts";
import { isAmountKey } from "../rules/tools/trace.ts";
import { assessedIn, calleeOf, methodOf } from "./forms.ts";
import type { Names } from "./names.ts";
import { ANSWERS, type Node, bare, boundIn, isFunction, nameOf, valuesIn, within } from "./syntax.ts";
import { givenIn, valuesOf } from "./values.ts";

export type Planned = NonNullable<Compiled["planned"]>[number];

const DEEPEST = 6;
/** Any field of this value: the whole of it is in the call. */
const ANY = "*";
/** Fields of planned calls that no person changes. */
const KEPT = /^(?:length|tool)$/;
/** Methods and functions whose answer is their value in another form. */
const FORMATS =
  /^(?:toFixed|toString|trim|concat|join|padStart|padEnd|String|JSON\.(?:stringify|parse)|structuredClone|Object\.(?:freeze|values|entries|fromEntries|assign)|Array\.from)$/;
/** Those of them, not methods, whose answer is made of their arguments. */
const COPIES = /^(?:concat|String|JSON\.\w+|structuredClone|Object\.\w+|Array\.from|with)$/;
/** Methods that return parts of their list or map. */
const PARTS = /^(?:filter|slice|flat|reverse|sort|toSorted|toReversed|concat|with|at|find|findLast|pop|shift|get|values|entries)$/;

/** Primitives whose answer is made of what they are given. */
const MAKES = /^(?:compute_.*|script_run)$/;
/** Methods that answer whole elements of their list. */
const WHOLE = /^(?:filter|find|findLast)$/;

interface Look {
  after: number;
  /** Names of other forms of facts. */
  formatted: ReadonlySet<string>;
  /** Only where the value stays what it is, in another form. */
  forms?: true;
  until?: number;
  /** In a function: also what it passes to primitives. */
  tells?: true;
  /** What is told in one expression with the gate begins before it. */
  from?: number;
  gate?: Node;
  /** Parameters of the functions around. */
  own?: readonly string[];
}

/** In source order. sites: the calls of primitives, by node. text: the script. */
export function plannedOf(
  body: readonly Node[],
  sites: ReadonlyMap<Node, number>,
  names: Names,
  at: (offset: number) => Planned["at"],
  text: string,
): Planned[] {
  const nodes = body.flatMap((one) => [...within(one)]);
  const { ids, fixed, given: values } = names;
  const aliases = new Map<string, string>();
  // Computations whose results the calls of a gate have: written again after it, they answer the same.
  const remade = new Map<string, string>();
  // Calls that the script was given: their place in its input.
  const handed = new Set<string>();
  const written = (node: Node) => text.slice(node.start, node.end).replace(/\s+/g, "");
  addAliases();
  const told = valuesOf(nodes, sites, names);
  const [assessed, acting] = assessedIn([...sites.keys()]);
  const found = [...sites.keys()].flatMap((site) =>
    callsAskedFor(site).length === 0 ? [] : told.madeAt(site).flatMap((gate) => after(gate, callsAskedFor(site))),
  );
  return [...new Map(found.map((one) => [`${one.at.line}:${one.at.col}`, one])).values()];

  /** What is used after this call, or beside it in what is told. */
  function after(gate: Node, calls: readonly Node[]): Planned[] {
    // By place, `pay` or `pay.amount`: the key under which the calls have it.
    const planned = new Map<string, string>();
    remade.clear();
    handed.clear();
    for (const one of calls) collect(one, null, DEEPEST, { planned, before: gate.end, seen: new Set() });
    // A parameter is used within its function alone, which is not the plan: what is passed to it is.
    for (const place of [...planned.keys()]) if (told.params.has(place.split(".")[0] ?? "")) planned.delete(place);
    const formatted = addDerived(planned, gate.start);
    const beside = body.find((one) => one.type === "ExpressionStatement" && one.start <= gate.start && gate.end <= one.end);
    const from = beside === undefined || /^Assignment/.test(bare(beside["expression"] as Node).type) ? gate.end : beside.start;
    return body.flatMap((node) => [...usesIn(node, planned, { after: gate.end, formatted, from, gate })]);
  }

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
      if (key === null && place.startsWith("input.")) {
        // Any other figure of its input may be one of the calls.
        planned.set("input", ANY);
        handed.add(place);
      }
      const look = `${one.type === "Identifier" ? idOf(one) : written(one)} ${key}`;
      if (depth === 0 || seen.has(look)) return;
      seen.add(look);
      const sources = one.type === "Identifier" ? (told.sources.get(idOf(one)) ?? []) : [];
      for (const { value, way } of sources) {
        const whole = value.end < before && isAmountKey(key ?? "") === true ? placeOf(value) : null;
        if (whole !== null) planned.set([whole, ...way.map((part) => (part === "*" ? "0" : part))].join("."), key ?? ANY);
      }
      const from =
        one.type === "Identifier"
          ? [...sources.flatMap(told.at), ...(told.added.get(idOf(one)) ?? [])]
          : told.fieldsOf(one["object"] as Node, place.split(".").at(-1) ?? "", true);
      for (const value of from) if (value.end < before) also(value, key, depth - 1);
    } else if (one.type === "ObjectExpression") {
      const isCall = (one["properties"] as Node[]).some((each) => nameOf(each) === "params");
      for (const each of one["properties"] as Node[]) {
        const name = nameOf(each);
        if (each.type === "SpreadElement") also(each["argument"], key === null ? null : ANY);
        else if (key !== null) also(each["value"], name ?? ANY);
        else if (name === "params") also(each["value"], ANY);
        else if (!isCall) also(each["value"]);
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
      const answers = told.answersOf(one);
      const [callee, name] = [bare(one["callee"] as Node), methodOf(one) || calleeOf(one)];
      if (callee.type === "MemberExpression" && (PARTS.test(name) || FORMATS.test(name) || (key === null && answers.length === 0)))
        also(callee["object"]);
      if (depth > 0) for (const end of answers) also(end, key, depth - 1);
      const isCopy = COPIES.test(name) || COPIES.test(calleeOf(one));
      for (const each of one["arguments"] as Node[]) if (isCopy && !isFunction(bare(each))) also(each);
    } else if (one.type === "MemberExpression") also(one["object"]);
    else if (one.type === "NewExpression") for (const each of one["arguments"] as Node[]) also(each);
    else if (one.type === "TemplateLiteral" && written(one).startsWith("`${") && (one["expressions"] as Node[]).length === 1)
      also((one["expressions"] as Node[])[0]);
    else if (key === null) for (const child of valuesIn(one)) also(child);
  }

  /**
   * A value computed or composed from planned values before the gate is as stale as they are, and so is a function that reads them. Of facts
   * only other forms of them are. Returns the names of those.
   */
  function addDerived(planned: Map<string, string>, before: number): Set<string> {
    const formatted = new Set<string>();
    const passed = [...told.sources].filter(([name]) => told.params.has(name)).map(([name, all]) => [name, all.flatMap(told.at)] as const);
    const named = [...values, ...passed, ...[...fixed].filter(([name]) => !values.has(name)).map(([name, one]) => [name, [one]] as const)];
    // A chain in the order of the text takes one pass; one against it is followed for some steps.
    for (let size = -1, passes = 0; size !== planned.size && passes < DEEPEST; passes++) {
      size = planned.size;
      for (const [name, given] of named) {
        if (planned.has(name)) continue;
        const made = [...given, ...(told.added.get(name) ?? [])].filter((one) => one.start < before);
        const look = { after: 0, until: before, formatted };
        // A function that tells a planned value tells it whenever it is called.
        const from = made
          .flatMap((one) => [...usesIn(one, planned, isFunction(bare(one)) ? { ...look, tells: true } : look)])
          .find(({ fact }) => fact !== true);
        const form = made.flatMap((one) => [...usesIn(one, planned, { ...look, forms: true })])[0];
        if (from === undefined && form !== undefined) formatted.add(name);
        const { key } = from ?? form ?? {};
        if (key !== undefined) planned.set(name, key);
      }
    }
    return formatted;
  }

  function* usesIn(node: Node, planned: ReadonlyMap<string, string>, look: Look): Generator<Planned> {
    const place = placeOf(node);
    if (place !== null) {
      const [root = ""] = place.split(".");
      const isOutside =
        node.start < (look.from ?? look.after) || node.start >= (look.until ?? Number.POSITIVE_INFINITY) || (look.own ?? []).includes(root);
      const key = isOutside || isRenewed(root, look.after, node.start) ? null : plannedKey(place, planned);
      const fact = (isFact(root) || look.formatted.has(root)) && !handed.has(place);
      if (key !== null) yield { name: placeOf(node, false) ?? "", key, at: at(node.start), ...(fact ? { fact } : {}) };
      return;
    }
    if (node === look.gate) return;
    const again = look.after > 0 && node.start > look.after && sites.has(node) ? remade.get(written(node)) : undefined;
    if (again !== undefined) return yield { name: calleeOf(node), key: again, at: at(node.start) };
    // What another primitive answers about a planned value is not made of it.
    if (look.after === 0 && look.tells !== true && sites.has(node) && !MAKES.test(calleeOf(node))) return;
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
    const own = isFunction(node)
      ? [...(look.own ?? []), ...(node["params"] as Node[]).flatMap((one) => [...boundIn(one)].map((bound) => idOf(bound.node)))]
      : look.own;
    const isUsedByName = names !== undefined && list !== undefined && placeOf(list) !== null;
    for (const child of valuesIn(node)) {
      const isMethod = bare(child) === method && method.type === "MemberExpression";
      if (!unsaid.includes(child) && !(isMethod && isUsedByName))
        yield* usesIn(isMethod ? (method["object"] as Node) : child, planned, own === undefined ? look : { ...look, own });
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
    return root === "input" || isGiven(values.get(root) ?? told.sources.get(root)?.flatMap(told.at), DEEPEST);
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

  /** The calls that a call of approval_wait, or of a script that asks, names; none when nobody may change them. */
  function callsAskedFor(gate: Node): Node[] {
    if (!["approval_wait", "script_run"].includes(calleeOf(gate))) return [];
    const named = (name: string) => (gate["arguments"] as Node[]).flatMap((one) => told.fieldsOf(one, name, false));
    const [fixed, calls] = [named("fixed"), named("calls")];
    return fixed.length > 0 && fixed.every((one) => bare(one)["value"] === true) ? [] : calls;
  }
}

const READS = /^(?:mcp_(?:call|record|fetch_all|try)|data_(?:first|read)|config_get|ctx_today)$/;
