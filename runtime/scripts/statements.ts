/** The statements of a script that is followed (follow.ts), in their order: both ways of a branch, and two rounds of a loop. */
import type { framesOf } from "./frames.ts";
import type { Refusals } from "./refusals.ts";
import { type Node, bare, leaves } from "./syntax.ts";
import { type Refused, type Value, type Values, waysOf } from "./values.ts";

interface Parts {
  values: Values;
  frames: ReturnType<typeof framesOf>;
  refusals: Refusals;
  /** The value, and that it is read. */
  evaluate(node: Node): Value;
  resolve(node: Node): Value;
  /** An expression whose value is told. */
  told(node: Node): Value;
  quietly<T>(look: () => T): T;
  /** A further round. gatesBefore: how many there were before the first. */
  again(gatesBefore: number, look: () => unknown): void;
  closure(node: Node): Value;
  isInFunction(): boolean;
  /** A function answers this. */
  answers(value: Value): void;
}

/** Null for a way on which the script ends. */
type End = null | undefined;

export function statementsOf({ values, frames, refusals, evaluate, resolve, told, quietly, again, closure, isInFunction, answers }: Parts) {
  const { gates, fresh, literal, choose, rootOf, elementOf } = values;
  const { assign, declare, bind } = frames;
  const { refusedBy, way, both, compared } = refusals;

  /** end: follows a statement or block that is not left. */
  function execute(node: Node | null, end?: () => End): End {
    const inner = node?.["body"] ?? node?.["consequent"];
    const all = Array.isArray(inner) ? (inner as Node[]) : node === null ? [] : [node];
    for (const one of all) if (one.type === "FunctionDeclaration") declare(one["id"] as Node, closure(one));
    return sequence(all, end);
  }

  function sequence(all: readonly Node[], end?: () => End): End {
    for (const [i, one] of all.entries()) {
      if (one.type !== "IfStatement") {
        if (statement(one) === null) return null;
        if (one.type === "ThrowStatement" || (one.type === "ReturnStatement" && !isInFunction())) return null;
        if (leaves([one])) return undefined;
        continue;
      }
      const parts = [one["consequent"], one["alternate"]] as (Node | null)[];
      const left = parts.filter((part) => part !== null && leaves([part]));
      // Where one way leaves, the rest is of the other.
      const [yes, no] = parts.map((part) => () => {
        const found = execute(part);
        return found === null || left.length !== 1 || left.includes(part) ? found : sequence(all.slice(i + 1), end);
      }) as [() => End, () => End];
      if (both(refusedBy(quietly(() => evaluate(one["test"] as Node))), yes, no).length === 0) return null;
      if (left.length > 0) return undefined;
    }
    return end?.();
  }

  /** next: begins a round, and answers what the test says of gates. */
  function loop(body: Node, isTested: boolean, next: (isFirst: boolean) => Refused | undefined): void {
    const size = gates.size;
    const said = next(true);
    const rounds = () => execute(body, () => void again(size, () => way(true, next(false), () => execute(body))()));
    choose([way(true, isTested ? said : undefined, rounds), () => undefined]);
  }

  function statement(node: Node): End {
    const look = (key: string) => (node[key] ? quietly(() => evaluate(node[key] as Node)) : undefined);
    switch (node.type) {
      case "ExpressionStatement": {
        const one = bare(node["expression"] as Node);
        return void (one.type === "AssignmentExpression" ? evaluate(one) : told(one));
      }
      case "ReturnStatement":
        return void (node["argument"] && answers(told(node["argument"] as Node)));
      case "ThrowStatement":
        return void evaluate(node["argument"] as Node);
      // What is declared is told where its name is.
      case "VariableDeclaration":
        for (const { id, init } of node["declarations"] as unknown as { id: Node; init: Node | null }[])
          bind(id, init === null ? literal() : resolve(init));
        return undefined;
      case "SwitchStatement": {
        const value = look("discriminant") as Value;
        const cases = node["cases"] as Node[];
        const says = cases.map((one) => one["test"] && compared("===", value, evaluate(one["test"] as Node))) as (Refused | undefined)[];
        // Beside the case of an edit, `default` has none.
        const yes = says.find((one) => one?.when === false);
        const ways = cases.map((one, i) => way(one["test"] !== null, one["test"] ? says[i] : yes, () => execute(one)));
        return void choose([...ways, () => undefined]);
      }
      case "ForOfStatement":
      case "ForInStatement": {
        const one = node.type === "ForInStatement" ? literal() : elementOf(resolve(node["right"] as Node));
        const isApproved = waysOf(one).some((each) => rootOf(each).kind === "approved");
        const target = node["left"] as Node;
        const [name, to] =
          target.type === "VariableDeclaration" ? [(target["declarations"] as Node[])[0]?.["id"] as Node, declare] : [target, assign];
        return void loop(node["body"] as Node, true, (isFirst) => void bind(name, isFirst || isApproved ? one : fresh("fact"), to));
      }
      case "ForStatement":
      case "WhileStatement":
      case "DoWhileStatement":
        if (/^Var/.test((node["init"] as Node | undefined)?.type ?? "")) statement(node["init"] as Node);
        else look("init");
        look("update");
        return void loop(node["body"] as Node, !node.type.startsWith("Do"), () => {
          const test = look("test");
          return test && refusedBy(test);
        });
      case "BlockStatement":
        return execute(node);
      case "LabeledStatement":
        return execute(node["body"] as Node);
      default:
        return undefined;
    }
  }

  return { execute };
}
