/**
 * Follows a script without running it: statements in their order, both ways of a branch, each loop once, and the script's own functions where
 * they are called. The language of scripts (language.ts) has no other way from one statement to the next.
 */
import { framesOf } from "./frames.ts";
import { calleeOf, methodOf } from "./forms.ts";
import { ANSWERED, JUDGES, isPart, methodsOf } from "./methods.ts";
import type { Names } from "./names.ts";
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
  /** Parts of one text. */
  text(parts: () => Value[]): Value[];
  /** True for a value that has, or was made of, the answer of a gate. */
  isApproved(value: Value): boolean;
}

export function follow(body: readonly Node[], sites: ReadonlyMap<Node, number>, names: Names, values: Values, watch: Watch): void {
  const { gates, fresh, literal, made, join, choose, field, set, object, spread, itemsOf, elementOf, listWith } = values;
  const { named, keyOf, assign, declare, bind, bindAll, within, current } = framesOf(names, values, watch.input, evaluate, resolve);
  const { builtin, method } = methodsOf(values, (fn, args, isQuiet = false) => quietly(quiet || isQuiet, () => apply(fn, args)));
  const maybe = <T>(way: () => T): T | undefined => choose([way, () => undefined])[0];
  let returns: Value[] = [];
  const active: Node[] = [];
  /** Calls whose answers were read in the script's own functions. */
  const followed = new Set<Node>();
  let steps = 0;
  let quiet = false;
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
      /^(?:Identifier|MemberExpression|ChainExpression)$/.test(one.type) || (one.type === "CallExpression" && isPart(methodOf(one)));
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
        const parts = watch.text(() => (one["expressions"] as Node[]).map(evaluate));
        const texts = (one["quasis"] as { value: { raw: string } }[]).map(({ value }) => value.raw);
        if (parts.length === 0) return literal(texts.join(""));
        return parts.length === 1 && texts.join("") === "" ? (parts[0] as Value) : made("form", texts.join("\0"), parts);
      }
      case "ChainExpression":
        return resolve(one["expression"] as Node);
      case "MemberExpression": {
        const [value, name] = [resolve(one["object"] as Node), keyOf(one)];
        return name === "length" || name === "size" ? literal() : field(value, name);
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
        quietly(true, () => of("test"));
        return join(...choose([() => of("consequent"), () => of("alternate")]));
      case "LogicalExpression": {
        const isAnd = one["operator"] === "&&";
        const left = quietly(quiet || isAnd, () => of("left"));
        // The fallback for a call that was not made.
        const isFallback = one["operator"] === "??" && watch.isApproved(left);
        const right = maybe(() => quietly(quiet || isFallback, () => of("right")));
        return isFallback ? left : join(isAnd ? undefined : left, right);
      }
      case "BinaryExpression":
      case "UnaryExpression": {
        const sides = () => (one["left"] ? ["left", "right"] : ["argument"]).map(of);
        if (!ANSWERS.test(String(one["operator"]))) return made("form", String(one["operator"]), watch.text(sides));
        quietly(true, sides);
        return fresh("fact");
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
    const args = quietly(quiet && watch.isSilent(one), () => argsOf(one["arguments"] as Node[]));
    const all = itemsOf(args).map(([, each]) => each);
    return watch.answer(one, all);
  }

  function called(one: Node): Value {
    const callee = bare(one["callee"] as Node);
    const object = callee.type === "MemberExpression" ? (callee["object"] as Node) : null;
    const root = bare(object ?? callee);
    const given = () => argsOf(one["arguments"] as Node[]);
    if (root.type === "Identifier" && !names.ids.has(root) && root["name"] !== "input") return builtin(calleeOf(one), given());
    const name = methodOf(one);
    const isQuiet = quiet || JUDGES.test(name);
    const target = quietly(isQuiet, () => (object === null || isPart(name) ? resolve : evaluate)(object ?? callee));
    const args = quietly(isQuiet, given);
    const answer = apply(object === null ? target : field(target, keyOf(callee)), args);
    if (answer !== undefined || ANSWERED.test(name)) followed.add(one);
    return answer ?? method(name, target, args);
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
    const before = [returns, beside] as const;
    [returns, beside] = [[], []];
    active.push(node);
    within({ vars: new Map(), up }, () => {
      bindAll(node["params"] as Node[], args);
      const inner = node["body"] as Node;
      if (inner.type === "BlockStatement") execute(inner);
      else returns.push(told(inner));
    });
    const answer = join(...returns);
    active.pop();
    [returns, beside] = before;
    return answer;
  }

  /** Null when the script ends in this statement or block. */
  function execute(node: Node | null): null | undefined {
    const inner = node?.["body"] ?? node?.["consequent"];
    const all = Array.isArray(inner) ? (inner as Node[]) : node === null ? [] : [node];
    for (const one of all) if (one.type === "FunctionDeclaration") declare(one["id"] as Node, closure(one));
    for (const one of all) {
      statement(one);
      if (/^(?:Return|Throw)Statement$/.test(one.type)) return active.length === 0 ? null : undefined;
    }
    return undefined;
  }

  function statement(node: Node): void {
    const block = (key: string) => () => execute(node[key] as Node | null);
    const look = (key: string) => void (node[key] && quietly(true, () => evaluate(node[key] as Node)));
    switch (node.type) {
      case "ExpressionStatement": {
        const one = bare(node["expression"] as Node);
        return void (one.type === "AssignmentExpression" ? evaluate(one) : told(one));
      }
      case "ReturnStatement":
        return void (node["argument"] && returns.push(told(node["argument"] as Node)));
      case "VariableDeclaration":
        for (const { id, init } of node["declarations"] as unknown as { id: Node; init: Node | null }[])
          bind(id, init === null ? literal() : evaluate(init));
        return;
      case "IfStatement":
        look("test");
        return void choose([block("consequent"), block("alternate")]);
      case "SwitchStatement":
        look("discriminant");
        return void choose([...(node["cases"] as Node[]).map((one) => () => execute(one)), () => undefined]);
      case "ForOfStatement":
      case "ForInStatement": {
        const list = resolve(node["right"] as Node);
        const left = node["left"] as Node;
        const isNew = left.type === "VariableDeclaration";
        const target = isNew ? ((left["declarations"] as Node[])[0]?.["id"] as Node) : left;
        return void maybe(() => {
          bind(target, node.type === "ForInStatement" ? literal() : elementOf(list), isNew ? declare : assign);
          return block("body")();
        });
      }
      case "ForStatement":
      case "WhileStatement":
      case "DoWhileStatement":
        if (/^Var/.test((node["init"] as Node | undefined)?.type ?? "")) statement(node["init"] as Node);
        else look("init");
        look("test");
        look("update");
        return void maybe(block("body"));
      case "BlockStatement":
        return void execute(node);
      case "LabeledStatement":
        return statement(node["body"] as Node);
      case "ThrowStatement":
        return void evaluate(node["argument"] as Node);
      default:
    }
  }

  execute({ type: "BlockStatement", start: 0, end: 0, body });
}
