/**
 * Values that a script planned for a call and uses after the gate that asked for that call, when a person may have changed it. Returned as
 * data with their key in the call. A value passed to a script that builds the calls is planned too; of values that were given with the run
 * or read, only amounts and figures computed from them are. It may be told in one text with the value that was approved, where the person said
 * no, or under `planned:`. How a script is followed is in follow.ts.
 */
import type { Compiled } from "../kernel/ports.ts";
import { isAmountKey } from "../rules/tools/trace.ts";
import { follow } from "./follow.ts";
import { assessedIn, calleeOf } from "./forms.ts";
import { FIGURES, tableOf } from "./methods.ts";
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
const READS = /^(?:mcp_(?:call|record|fetch_all|try)|data_read|config_get|ctx_today)$/;
const TABLES = /^data_(?:sum|group_by|first|dedupe)$/;
/** Parts of values that are looked at: some seconds. */
const MAX_PARTS = 2_000_000;

interface Plan {
  key: string;
  value: Value;
  /** The answer of its gate. */
  gate: number;
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
  const { fresh, made, rootOf, object, fieldsOf, put } = values;
  const [assessed, acting] = assessedIn([...sites.keys()]);
  const input = fresh("fact");
  const plans = values.gates as Map<number, Plan>;
  const found = new Map<number, Planned>();
  /** The planned value of each that was found. */
  const hits = new Map<number, number>();
  /** Values that gates asked about in this round of a loop. */
  let asked = new Set<number>();
  /** Objects that are the parameters of a call. */
  const wholes = new Set<number>();
  let given: readonly number[] = [];
  let refused: readonly number[] = [];
  let looked = 0;

  function answer(node: Node, args: readonly Value[]): Value {
    const name = calleeOf(node);
    const own = (key: string) => args.flatMap(waysOf).flatMap((one) => fieldsOf(one).get(key) ?? []);
    const calls = GATES.test(name) ? own("calls") : [];
    if (calls.length > 0) {
      const fixed = own("fixed");
      const approved = fresh("approved");
      if (fixed.length === 0 || fixed.some((one) => one.text !== "true")) for (const one of calls) plan(one, null, approved.id);
      return approved;
    }
    if (TABLES.test(name) && args[0] !== undefined) return tableOf(values, name, args[0]);
    if (name === "mcp_fetch_all") return object(Object.entries({ records: fresh("fact"), [SPREAD]: fresh("fact") }));
    const isRead = READS.test(name) || (name === "script_run" && node.start > assessed && node.start < acting);
    return isRead ? fresh("fact") : MAKES.test(name) ? made("computed", name, args) : fresh("answer");
  }

  /** The values that the calls have. key: of this value in `params`; null outside of them. */
  function plan(value: Value, key: string | null, gate: number, seen = new Set<string>()): void {
    for (const one of waysOf(value)) {
      // An object may have itself in it.
      const mark = `${one.id} ${key}`;
      if (seen.has(mark)) continue;
      seen.add(mark);
      const fields = [...fieldsOf(one)];
      if (key === ANY) wholes.add(one.id);
      const isCall = key === null && fields.some(([name]) => name === "params");
      for (const [name, each] of fields)
        if (key !== null) plan(each, /^\d+$/.test(name) ? key : name === SPREAD ? ANY : name, gate, seen);
        else if (!isCall || name === "params") plan(each, isCall ? ANY : null, gate, seen);
      if (one.kind === "object" || one.kind === "function" || (key === null && one.kind === "literal")) continue;
      const root = rootOf(one);
      const isHanded = key === null && root === input;
      asked.add(one.id);
      put(plans, one.id, { key: key ?? ANY, value: one, gate, ...(isHanded && { isHanded }) });
      // Any other figure of its input may be one of the calls.
      if (isHanded) put(plans, input.id, { key: ANY, value: input, gate });
      if (key === null && root.kind === "computed")
        for (const passed of root.parts) if (passed.kind === "object") plan(passed, ANY, gate, seen);
      if (root.kind !== "fact" && isAmountKey(key ?? "") === true)
        for (let whole = one.of; whole !== undefined; whole = whole.of)
          if (!plans.has(whole.id)) put(plans, whole.id, { key: key ?? ANY, value: whole, gate, isPart: true });
    }
  }

  /** The plan that this value is, or is a part or the whole of. isFigure: a figure was computed from it. */
  function planOf(value: Value, isFigure: boolean): Plan | null {
    let name: string | undefined;
    for (let one: Value | undefined = value; one !== undefined; one = one.of) {
      const known = plans.get(one.id);
      if (known !== undefined && !refused.includes(known.gate) && (one === value || known.isPart !== true)) {
        const key = name ?? known.key;
        const isFact = rootOf(value).kind === "fact" && known.isHanded !== true;
        return KEPT.test(key) || (isFact && !isFigure && isAmountKey(key) !== true) ? null : { ...known, key };
      }
      if (one.name !== undefined && /\D/.test(one.name)) name ??= one.name;
    }
    return null;
  }

  /** What a value is made of, with itself. text: the outermost text or figure that it is a part of. */
  function* madeOf(value: Value): Generator<{ one: Value; isFigure: boolean; text: Value | undefined }> {
    const seen = new Set<string>();
    type Part = [one: Value, isFigure: boolean, text: Value | undefined];
    for (const stack: Part[] = [[value, false, undefined]]; stack.length > 0; ) {
      looked += 1;
      if (looked > MAX_PARTS) throw new TooLong();
      const [one, isFigure, text] = stack.pop() as Part;
      const mark = `${one.id} ${isFigure} ${text?.id}`;
      if (seen.has(mark)) continue;
      seen.add(mark);
      yield { one, isFigure, text };
      const root = rootOf(one);
      const next = root.how === undefined ? ([isFigure, text] as const) : ([FIGURES.test(root.how), text ?? root] as const);
      for (const part of root.parts) stack.push([part, ...next]);
      for (const [name, part] of fieldsOf(one)) if (name !== "planned") stack.push([part, isFigure, text]);
    }
  }

  /** The planned value that is told with this one, alone. Values given to a function of the script are told where they are given. */
  function hitIn(value: Value): Plan | undefined {
    for (const { one, isFigure, text } of madeOf(value)) {
      const hit = given.includes(one.id) ? null : planOf(one, isFigure);
      if (hit !== null && (text === undefined || !namesApproved(text, hit.key))) return hit;
    }
    return undefined;
  }

  const namesApproved = (value: Value, key: string): boolean =>
    [...madeOf(value)].some(({ one }) => one.name === key && rootOf(one).kind === "approved");

  function read(node: Node, value: Value, isWhole: boolean): void {
    if (plans.size === 0) return;
    // Of an answer, what is used is read.
    const own = isWhole || given.includes(value.id) ? null : planOf(value, false);
    const hit = isWhole ? hitIn(value) : own?.isPart ? null : own;
    if (!hit || [...found.keys()].some((start) => node.start <= start && start < node.end)) return;
    const name = text.slice(node.start, node.end).split("(")[0] ?? "";
    hits.set(node.start, hit.value.id);
    found.set(node.start, { at: at(node.start), name, key: wholes.has(value.id) ? ANY : hit.key });
  }

  function beside() {
    const before = new Set(found.keys());
    return (value: Value) => {
      for (const [start, { key }] of found)
        if (!before.has(start) && value.how !== undefined && namesApproved(value, key)) found.delete(start);
      return value;
    };
  }

  try {
    follow(body, sites, names, values, {
      input,
      answer,
      read,
      beside,
      // What each round asks about anew is told before that as planned.
      again: (look) => {
        const [before, outer] = [new Set(found.keys()), asked];
        asked = new Set();
        look();
        for (const start of found.keys()) if (!before.has(start) && asked.has(hits.get(start) ?? 0)) found.delete(start);
        asked = new Set([...outer, ...asked]);
      },
      refused: (ways, look) => {
        const before = refused;
        refused = [...refused, ...ways];
        const end = look();
        refused = before;
        return end;
      },
      isSilent: (node) => [READS, TABLES, /^compute_/].some((one) => one.test(calleeOf(node))),
      enter: (args) => {
        const before = given;
        given = [...given, ...[...fieldsOf(args).values()].filter(hitIn).map(({ id }) => id)];
        return () => {
          given = before;
        };
      },
    });
  } catch (error) {
    // Values within values may go deeper than the stack; the script itself has passed by now.
    if (!(error instanceof TooLong || error instanceof RangeError)) throw error;
    const [gate] = [...sites.keys()].filter((one) => GATES.test(calleeOf(one)));
    if (gate !== undefined) found.set(gate.start, { at: at(gate.start), name: "", key: "" });
  }
  return [...found.values()].sort((a, b) => (a.at.line ?? 0) - (b.at.line ?? 0) || (a.at.col ?? 0) - (b.at.col ?? 0));
}
