/**
 * Values that a script planned for a call and uses after the gate that asked for that call, when a person may have changed it. Returned as
 * data with their key in the call. A value passed to a script that builds the calls is planned too; of values that were given with the run
 * or read only amounts are. A value under `planned:` after the gate is named so on purpose. How a script is followed is in follow.ts.
 */
import type { Compiled } from "../kernel/ports.ts";
import { isAmountKey } from "../rules/tools/trace.ts";
import { follow } from "./follow.ts";
import { assessedIn, calleeOf } from "./forms.ts";
import type { Names } from "./names.ts";
import type { Node } from "./syntax.ts";
import { SPREAD, TooLong, type Value, createValues, waysOf } from "./values.ts";

export type Planned = NonNullable<Compiled["planned"]>[number];

/** Any field of this value: the whole of it is in the call. */
const ANY = "*";
/** Fields of planned calls that no person changes. */
const KEPT = /^(?:length|tool)$/;
/** Primitives whose answer is made of what they are given. */
const MAKES = /^(?:compute_.*|script_run)$/;
const GATES = /^(?:approval_wait|script_run)$/;
const READS = /^(?:mcp_(?:call|record|fetch_all|try)|data_(?:first|read)|config_get|ctx_today)$/;
/** Parts of values that are looked at: some seconds. */
const MAX_PARTS = 2_000_000;

interface Plan {
  key: string;
  value: Value;
  /** A whole of which the calls have a part. */
  isPart?: true;
  /** Calls that the script was given. */
  isHanded?: true;
}

/** In source order. sites: the calls of primitives, by node. text: the script. */
export function plannedOf(
  body: readonly Node[],
  sites: ReadonlyMap<Node, number>,
  names: Names,
  at: (offset: number) => Planned["at"],
  text: string,
): Planned[] {
  const values = createValues();
  const { fresh, made, fieldsOf, put } = values;
  const [assessed, acting] = assessedIn([...sites.keys()]);
  const input = fresh("fact");
  const plans = values.gates as Map<number, Plan>;
  const found = new Map<number, Planned & { isFact: boolean }>();
  /** Objects that are the parameters of a call. */
  const wholes = new Set<number>();
  let given: readonly number[] = [];
  let looked = 0;

  function answer(node: Node, args: readonly Value[]): Value {
    const name = calleeOf(node);
    const own = (key: string) => args.flatMap(waysOf).flatMap((one) => fieldsOf(one).get(key) ?? []);
    const calls = GATES.test(name) ? own("calls") : [];
    if (calls.length > 0) {
      const fixed = own("fixed");
      if (fixed.length === 0 || fixed.some((one) => one.text !== "true")) for (const one of calls) plan(one, null);
      return fresh("approved");
    }
    const isRead = READS.test(name) || (name === "script_run" && node.start > assessed && node.start < acting);
    return isRead ? fresh("fact") : MAKES.test(name) ? made("computed", name, args) : fresh("answer");
  }

  /** The values that the calls have. key: of this value in `params`; null outside of them. */
  function plan(value: Value, key: string | null, seen = new Set<string>()): void {
    for (const one of waysOf(value)) {
      // An object may have itself in it.
      const mark = `${one.id} ${key}`;
      if (seen.has(mark)) continue;
      seen.add(mark);
      const fields = [...fieldsOf(one)];
      if (key === ANY) wholes.add(one.id);
      const isCall = key === null && fields.some(([name]) => name === "params");
      for (const [name, each] of fields)
        if (key !== null) plan(each, /^\d+$/.test(name) ? key : name === SPREAD ? ANY : name, seen);
        else if (!isCall || name === "params") plan(each, isCall ? ANY : null, seen);
      if (one.kind === "object" || one.kind === "function" || (key === null && one.kind === "literal")) continue;
      const root = rootOf(one);
      const isHanded = key === null && root === input;
      put(plans, one.id, { key: key ?? ANY, value: one, ...(isHanded && { isHanded }) });
      // Any other figure of its input may be one of the calls.
      if (isHanded) put(plans, input.id, { key: ANY, value: input });
      if (key === null && root.kind === "computed") for (const passed of root.parts) if (passed.kind === "object") plan(passed, ANY, seen);
      if (root.kind !== "fact" && isAmountKey(key ?? "") === true)
        for (let whole = one.of; whole !== undefined; whole = whole.of)
          if (!plans.has(whole.id)) put(plans, whole.id, { key: key ?? ANY, value: whole, isPart: true });
    }
  }

  function rootOf(value: Value): Value {
    let root = value;
    while (root.of !== undefined) root = root.of;
    return root;
  }

  /** The plan that this value is, or is a part or the whole of. */
  function planOf(value: Value, isComputed: boolean): (Plan & { isFact: boolean }) | null {
    let name: string | undefined;
    for (let one: Value | undefined = value; one !== undefined; one = one.of) {
      const known = plans.get(one.id);
      if (known !== undefined && (one === value || known.isPart !== true)) {
        const key = name ?? known.key;
        const isFact = rootOf(value).kind === "fact" && known.isHanded !== true;
        return KEPT.test(key) || (isFact && (isComputed || isAmountKey(key) !== true)) ? null : { ...known, key, isFact };
      }
      if (one.name !== undefined && /\D/.test(one.name)) name ??= one.name;
    }
    return null;
  }

  /** What a value is made of, with itself; a computation of facts tells something else than they do. */
  function* madeOf(value: Value): Generator<[Value, isComputed: boolean]> {
    const seen = new Set<number>();
    for (const stack: [Value, boolean][] = [[value, false]]; stack.length > 0; ) {
      looked += 1;
      if (looked > MAX_PARTS) throw new TooLong();
      const [one, isComputed] = stack.pop() as [Value, boolean];
      const mark = one.id * 2 + (isComputed ? 1 : 0);
      if (seen.has(mark)) continue;
      seen.add(mark);
      yield [one, isComputed];
      const root = rootOf(one);
      const isNew = isComputed || root.kind === "computed" || root !== one;
      for (const part of root.parts) stack.push([part, isNew]);
      for (const [name, part] of fieldsOf(one)) if (name !== "planned") stack.push([part, isComputed]);
    }
  }

  function read(node: Node, value: Value, isWhole: boolean): void {
    if (plans.size === 0) return;
    for (const [one, isComputed] of isWhole ? madeOf(value) : ([[value, false]] as const)) {
      const hit = planOf(one, isComputed);
      if (hit === null) continue;
      if (given.includes(value.id) || [...found.keys()].some((start) => node.start <= start && start < node.end)) return;
      const name = text.slice(node.start, node.end).split("(")[0] ?? "";
      found.set(node.start, { at: at(node.start), name, key: wholes.has(value.id) ? ANY : hit.key, isFact: hit.isFact });
      return;
    }
  }

  /** What was read may be told beside what was approved in its place: "80.00 of 100.00". */
  function join(parts: () => Value[]): Value[] {
    const before = new Set(found.keys());
    const all = parts();
    const facts = [...found].filter(([start, one]) => one.isFact && !before.has(start));
    for (const [start, { key }] of facts)
      if (all.some((one) => [...madeOf(one)].some(([each]) => each.name === key && isApproved(each)))) found.delete(start);
    return all;
  }

  const isPlanned = (value: Value): boolean => [...madeOf(value)].some(([one, isComputed]) => planOf(one, isComputed) !== null);
  const isApproved = (value: Value): boolean => plans.size > 0 && [...madeOf(value)].some(([one]) => rootOf(one).kind === "approved");

  try {
    follow(body, sites, names, values, {
      input,
      answer,
      read,
      text: join,
      isApproved,
      isSilent: (node) => READS.test(calleeOf(node)) || calleeOf(node).startsWith("compute_"),
      enter: (args) => {
        const before = given;
        given = [...given, ...[...fieldsOf(args).values()].filter(isPlanned).map(({ id }) => id)];
        return () => {
          given = before;
        };
      },
    });
  } catch (error) {
    // Values within values may go deeper than the stack; the script itself has passed by now.
    if (!(error instanceof TooLong || error instanceof RangeError)) throw error;
    const [gate] = [...sites.keys()].filter((one) => GATES.test(calleeOf(one)));
    if (gate !== undefined) found.set(gate.start, { at: at(gate.start), name: "", key: "", isFact: false });
  }
  return [...found.values()]
    .map(({ isFact: _, ...one }) => one)
    .sort((a, b) => (a.at.line ?? 0) - (b.at.line ?? 0) || (a.at.col ?? 0) - (b.at.col ?? 0));
}
