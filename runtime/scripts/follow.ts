/**
 * Follows a script without running it: statements in their order, both ways of a branch, loops, and the script's own functions where they are
 * called. The language of scripts (language.ts) has no other way from one statement to the next.
 */
import { framesOf } from "./frames.ts";
import { calleeOf, methodOf } from "./forms.ts";
import { ANSWERED, JUDGES, isPart, methodsOf } from "./methods.ts";
import type { Names } from "./names.ts";
import { refusalsOf } from "./refusals.ts";
import { statementsOf } from "./statements.ts";
import { ANSWERS, type Node, bare, valuesIn } from "./syntax.ts";
import { TooLong, type Value, type Values, waysOf } from "./values.ts";

/** Functions within functions. */
const DEEPEST = 40;
/** Expressions that are evaluated; the agents here have some thousand. */
const MAX_STEPS = 50_000;

export interface Watch {
  input: Value;
  /** A name, a part of one or a computation is read. isWhole: also what is in it. */
  read(node: Node, value: Value, isWhole: boolean): void;
  /** A primitive is called. */
  answer(node: Node, args: readonly Value[]): Value;
  /** True for a primitive that tells and does nothing. */
  isSilent(node: Node): boolean;
  /** Values are given to a function of the script's own, until the answer is called. */
  enter(args: Value): () => void;
  /** What is read until the answer is called with the text or figure that it became a part of. */
  beside(): (made: Value) => Value;
  /** A further round of a loop. */
  again(look: () => unknown): void;
  /** A way that is taken only when these gates were refused. */
  refused<T>(gates: readonly number[], look: () => T): T;
}

export function follow(body: readonly Node[], sites: ReadonlyMap<Node, number>, names: Names, values: Values, watch: Watch): void {
  const { gates, fresh, literal, made, join, choose, rootOf, field, set, object, spread, itemsOf, listWith } = values;
  const frames = framesOf(names, values, watch.input, evaluate, resolve);
  const { named, keyOf, assign, bindAll, within, current } = frames;
  const { builtin, method } = methodsOf(values, (fn, args, isQuiet = false) => quietly(quiet || isQuiet, () => apply(fn, args)), again);
  const refusals = refusalsOf(values, (refused, look) => {
    const before = isRefused;
    isRefused = true;
    const found = watch.refused(refused, look);
    isRefused = before;
    return found;
  });
  const { refusedBy, way, both, compared } = refusals;
  let returns: Value[] = [];
  const active: Node[] = [];
  /** Calls whose answers were read in the script's own functions. */
  const followed = new Set<Node>();
  let steps = 0;
  let quiet = false;
  let isRefused = false;
  /** Read in the expression in which a gate may follow. */
  let beside: Parameters<Watch["read"]>[] = [];

  /** Of conditions and what is compared nothing is told. */
  function quietly<T>(isQuiet: boolean, look: () => T): T {
    const before = quiet;
    quiet = isQuiet;
    const found = look();
    quiet = before;
    return found;
  }

  /** A further round reads what the one before it left, if that had a gate. */
  function again(gatesBefore: number, look: () => unknown): void {
    if (gates.size > gatesBefore) watch.again(() => choose([look, () => undefined]));
  }

  /** What is told in one expression with a gate begins before it. */
  function told(node: Node): Value {
    const [before, size] = [beside, gates.size];
    beside = [];
    const value = evaluate(node);
    if (gates.size > size) for (const one of beside) watch.read(...one);
    beside = before;
    return value;
  }

  function evaluate(node: Node): Value {
    const one = bare(node);
    const value = resolve(one);
    const isWhole =
      /^(?:Identifier|MemberExpression|ChainExpression)$/.test(one.type) ||
      (one.type === "CallExpression" && (sites.has(one) ? watch.isSilent(one) : isPart(methodOf(one))));
    if (!quiet && (isWhole || /^(?:Call|New)/.test(one.type)) && !followed.has(one)) {
      beside.push([one, value, isWhole]);
      watch.read(one, value, isWhole);
    }
    return value;
  }

  function resolve(node: Node): Value {
    steps += 1;
    if (steps > MAX_STEPS) throw new TooLong();
    const one = bare(node);
    const of = (key: string) => evaluate(one[key] as Node);
    switch (one.type) {
      case "Identifier":
        return named(one);
      case "Literal":
        return literal(String(one["value"]));
      case "TemplateLiteral": {
        const settle = watch.beside();
        const parts = (one["expressions"] as Node[]).map(evaluate);
        const texts = (one["quasis"] as { value: { raw: string } }[]).map(({ value }) => value.raw);
        if (parts.length === 0) return literal(texts.join(""));
        return parts.length === 1 && texts.join("") === "" ? (parts[0] as Value) : settle(made("form", texts.join("\0"), parts));
      }
      case "ChainExpression":
        return resolve(one["expression"] as Node);
      case "MemberExpression": {
        const [value, name] = [resolve(one["object"] as Node), keyOf(one)];
        const isCount = (name === "length" || name === "size") && !waysOf(value).some((each) => rootOf(each).kind === "approved");
        return isCount ? literal() : field(value, name);
      }
      case "ArrayExpression":
        return argsOf(one["elements"] as (Node | null)[]);
      case "ObjectExpression": {
        const value = object();
        for (const each of one["properties"] as Node[]) {
          const name = each.type === "SpreadElement" ? null : keyOf(each);
          const given = quietly(quiet || name === "planned", () => evaluate((each["value"] ?? each["argument"]) as Node));
          if (each.type === "SpreadElement") spread(value, given);
          else set(value, name, given);
        }
        return value;
      }
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return closure(one);
      case "ConditionalExpression":
        return join(
          ...both(
            refusedBy(quietly(true, () => of("test"))),
            () => of("consequent"),
            () => of("alternate"),
          ),
        );
      case "LogicalExpression": {
        const isAnd = one["operator"] === "&&";
        const left = quietly(quiet || isAnd, () => of("left"));
        const isTruth = one["operator"] !== "??";
        const isRight = one["operator"] !== "||";
        const said = refusedBy(left, isTruth ? undefined : "??");
        const right = choose([way(isRight, said, () => of("right")), way(!isRight, said, () => undefined)]) as (Value | undefined)[];
        const value = join(isAnd ? undefined : left, ...right);
        const refused = [said, ...right.map((each) => each && refusedBy(each))].find((each) => isTruth && each?.when === isAnd);
        return refused === undefined ? value : { ...value, refused };
      }
      case "BinaryExpression":
      case "UnaryExpression": {
        const operator = String(one["operator"]);
        const sides = () => (one["left"] ? ["left", "right"] : ["argument"]).map(of);
        if (!ANSWERS.test(operator)) {
          const settle = watch.beside();
          return settle(made(operator === "+" || !one["left"] ? "form" : "computed", operator, sides()));
        }
        const [left, right] = quietly(true, sides) as [Value, Value | undefined];
        const refused = compared(operator, left, right);
        return fresh("fact", refused && { refused });
      }
      case "AssignmentExpression": {
        const [right, left, operator] = [of("right"), bare(one["left"] as Node), String(one["operator"])];
        const value =
          operator === "=" ? right : /^\W{3}$/.test(operator) ? join(resolve(left), right) : made("form", operator, [resolve(left), right]);
        assign(left, value);
        return value;
      }
      case "UpdateExpression":
        assign(bare(one["argument"] as Node), literal());
        return literal();
      case "NewExpression":
        return builtin(calleeOf(one), argsOf(one["arguments"] as Node[]));
      case "CallExpression":
        return call(one);
      default:
        return join((one["expressions"] ? valuesIn(one) : []).map(evaluate).at(-1));
    }
  }

  const closure = (node: Node): Value => fresh("function", { code: { node, frame: current() } });

  /** Arguments or elements, as a list. */
  const argsOf = (nodes: readonly (Node | null)[]): Value =>
    listWith(
      nodes.flatMap((node) => {
        if (node?.type !== "SpreadElement") return [[node === null ? literal() : evaluate(node), true] as const];
        return itemsOf(evaluate(node["argument"] as Node)).map(([at, one]) => [one, at !== null] as const);
      }),
    );

  function call(one: Node): Value {
    const [marked, size] = [beside.length, gates.size];
    const value = sites.has(one) ? primitive(one) : called(one);
    // What a gate was given is not told beside it.
    if (gates.size > size) beside.length = marked;
    return value;
  }

  function primitive(one: Node): Value {
    const [isSilent, settle] = [watch.isSilent(one), watch.beside()];
    const args = quietly(quiet && isSilent, () => argsOf(one["arguments"] as Node[]));
    const all = itemsOf(args).map(([, each]) => each);
    return isSilent ? settle(watch.answer(one, all)) : watch.answer(one, all);
  }

  function called(one: Node): Value {
    const callee = bare(one["callee"] as Node);
    const object = callee.type === "MemberExpression" ? (callee["object"] as Node) : null;
    const root = bare(object ?? callee);
    const given = () => argsOf(one["arguments"] as Node[]);
    const settle = watch.beside();
    if (root.type === "Identifier" && !names.ids.has(root) && root["name"] !== "input") return settle(builtin(calleeOf(one), given()));
    const name = methodOf(one);
    const isQuiet = quiet || JUDGES.test(name);
    const target = quietly(isQuiet, () => (object === null || isPart(name) ? resolve : evaluate)(object ?? callee));
    const args = quietly(isQuiet, given);
    const answer = apply(object === null ? target : field(target, keyOf(callee)), args);
    if (answer !== undefined || ANSWERED.test(name)) followed.add(one);
    return answer ?? (isPart(name) ? method(name, target, args) : settle(method(name, target, args)));
  }

  /** What these functions answer; undefined where there is none. */
  function apply(callee: Value, args: Value): Value | undefined {
    const own = waysOf(callee).filter(({ kind }) => kind === "function");
    if (own.length === 0) return undefined;
    const end = quiet ? () => undefined : watch.enter(args);
    const answer = join(...(own.length === 1 ? own.map((one) => run(one, args)) : choose(own.map((one) => () => run(one, args)))));
    end();
    return answer;
  }

  function run({ code }: Value, args: Value): Value {
    const { node, frame: up } = code as NonNullable<Value["code"]>;
    if (active.length > DEEPEST) throw new TooLong();
    if (active.filter((one) => one === node).length > 1) return made("computed", "again", [args]);
    const before = [returns, beside, isRefused] as const;
    [returns, beside, isRefused] = [[], [], false];
    active.push(node);
    within({ vars: new Map(), up }, () => {
      bindAll(node["params"] as Node[], args);
      const inner = node["body"] as Node;
      if (inner.type === "BlockStatement") execute(inner);
      else returns.push(told(inner));
    });
    const answer = join(...returns);
    active.pop();
    [returns, beside, isRefused] = before;
    return answer;
  }

  const { execute } = statementsOf({
    values,
    frames,
    refusals,
    evaluate,
    resolve,
    told,
    quietly: (look) => quietly(true, look),
    again,
    closure,
    isInFunction: () => active.length > 0,
    answers: (value) => void (isRefused || returns.push(value)),
  });
  execute({ type: "BlockStatement", start: 0, end: 0, body });
}
