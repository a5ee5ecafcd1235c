/**
 * Computes the states a script can be in at each of its calls, along its flow (Compiled.flow): calls that none of these states allows, edges
 * that the machine lacks, acts before a verdict. Only an error on every path to a call is a finding; the host decides the rest at run time.
 */
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import type { Access, Compiled, Finding, Flow, State, ToolClass, Verdict } from "../../kernel/ports.ts";
import type { Primitive } from "../../kernel/primitive.ts";
import type { Registry } from "../../kernel/registry.ts";
import { type Machine, type Move, STATES, move, startOf, statesFor } from "../../kernel/states.ts";
import { classify, classIn } from "../../rules/tools/classify.ts";
import type { Trust } from "../../workspace/settings/config.ts";

/** The class of `SERVER/NAME` by trust.yaml and its name; null if only the server can tell. */
export type ToolClassOf = (tool: string) => { class: ToolClass; why: string } | null;

export const classByName = (tool: string): { class: ToolClass; why: string } =>
  classify(tool.slice(tool.indexOf("/") + 1), { trusted: false });

export interface StateScript {
  calls: Compiled["calls"];
  flow: Compiled["flow"];
}

/** A position that a run may be in. current null: anywhere in the machine. */
interface Point {
  current: State | null;
  judged: boolean;
  asked: boolean;
  gates: number;
}
type Points = ReadonlyMap<string, Point>;

/** Positions after a part of the script: at its end, or having left the loop or the function. */
interface Ways {
  next: Points;
  stop: Points;
  back: Points;
}

const NOWHERE: Points = new Map();
const ANYWHERE = pointsOf([{ current: null, judged: true, asked: true, gates: 2 }]);
// Deeper code than people write is not followed; the host checks its calls.
const MAX_DEPTH = 500;

const MILD = {
  blocked: false,
  escalation_required: false,
  triggered: [],
  indeterminate: [],
  summary: "The policy may ask for a person here",
};
/** Possible answers of a policy that a transition depends on. */
const VERDICTS = [
  { ...MILD, verdict: "pass", passed: true },
  { ...MILD, verdict: "require_approval", passed: false },
  { ...MILD, verdict: "escalate", passed: false, escalation_required: true },
] as unknown as readonly Verdict[];

/** The possible classes of a call whose class depends on its parameters: each matching row of the table. */
export function accessOf(primitive: Primitive, given: Record<string, string>, toolClass: ToolClassOf): { rows: Access[]; why: string } {
  if (primitive.classify === undefined) return { rows: [primitive.access], why: "" };
  const found = given["tool"] === undefined ? null : toolClass(given["tool"]);
  if (found === null) return { rows: ["read", primitive.access], why: "" };
  return { rows: [found.class === "mutate" ? primitive.access : "read"], why: `${given["tool"]}: ${found.why}` };
}

/** The state that a script without `states:` enters. */
export function lintStateless(calls: Compiled["calls"]): Finding[] {
  const message = "This agent has no states. Add them to its header, such as states: [ASSESS, COMPUTE], or drop the call.";
  return calls.filter((call) => call.name === "fsm_enter").map(({ at }) => ({ code: "FSM_EDGE", at, message }));
}

/** The text given for the only parameter in its short form. */
function bareText(primitive: Primitive, given: Record<string, string>): string | undefined {
  return given[""] ?? (primitive.bare === null ? undefined : given[primitive.bare]);
}

/**
 * scripts: by their name for script_run; "" is the agent itself. calls: what is called in which state, by primitive or tool, as far as the
 * source shows it.
 */
export function lintStates(
  scripts: Readonly<Record<string, StateScript>>,
  machine: Machine,
  registry: Registry,
  toolClass: ToolClassOf = classByName,
): { findings: Finding[]; calls: Map<State, Set<string>> } {
  const findings = new Map<string, Finding>();
  const calls = new Map<State, Set<string>>();
  const known = new Map<Flow, Map<string, Ways>>();
  const active = new Set<Flow>();
  const reachable = STATES.filter(
    (state) => state === "ESCALATE" || state === "FAILED" || state === "APPROVAL_GATE" || machine.states.some((one) => one.state === state),
  );

  const tell = (call: Compiled["calls"][number], code: string, message: string) => {
    findings.getOrInsert(`${call.at.file}:${call.at.line}:${call.at.col}`, { code, at: call.at, message });
  };

  /** All positions that a transition can lead to, or why there is none. */
  const enter = (points: Points, to: State): { next: Points; refusal: ClearedError | null } => {
    const next: Point[] = [];
    let refusal: ClearedError | null = null;
    for (const point of points.values()) {
      const moves = movesOf(machine, point, to);
      refusal ??= moves.find((one) => one instanceof ClearedError) ?? null;
      // A person who reviewed an escalation sends the run to its gate.
      for (const [way, state] of [
        ["enter", to],
        ["escalate", "APPROVAL_GATE"],
      ] as const) {
        if (!moves.includes(way)) continue;
        const gate = state === "APPROVAL_GATE";
        const after = { judged: point.judged, asked: !gate && point.asked, gates: Math.min(2, point.gates + (gate ? 1 : 0)) };
        next.push(point.current === null ? point : { ...after, current: state });
      }
    }
    return { next: pointsOf(next), refusal: next.length > 0 ? null : refusal };
  };

  const enters = (call: Compiled["calls"][number], points: Points, report: boolean): Points => {
    const word = bareText(registry.get(call.name), call.given);
    if (word === undefined) return join(...STATES.map((state) => enter(points, state).next));
    const to = STATES.find((state) => state === word);
    if (to === undefined) {
      if (report) tell(call, "FSM_EDGE", `"${word}" is not a known state.${didYouMean(word, STATES)} There are ${STATES.join(", ")}.`);
      return points;
    }
    const { next, refusal } = enter(points, to);
    if (refusal === null) return next;
    if (report) tell(call, refusal.code, refusal.message);
    return pointsOf([{ current: to, judged: true, asked: true, gates: 1 }]);
  };

  const calling = (script: StateScript, index: number, points: Points, report: boolean, depth: number): Points => {
    const call = script.calls[index];
    if (call === undefined || !registry.has(call.name)) return points;
    const primitive = registry.get(call.name);
    const { rows, why } = accessOf(primitive, call.given, toolClass);
    const states = rows.flatMap((row) => statesFor(row));
    const legal = [...points.values()].filter(({ current }) =>
      current === null ? reachable.some((state) => states.includes(state)) : states.includes(current),
    );
    if (report) {
      if (legal.length === 0) tell(call, "FSM_STATE", outOfState(call.name, why, [...points.values()], machine, states));
      for (const { current } of legal)
        if (current !== null) calls.getOrInsertComputed(current, () => new Set()).add(call.given["tool"] ?? call.name);
    }
    // A refused call ends the run; after a finding the walk continues as if it were allowed.
    const here = legal.length === 0 ? points : pointsOf(legal);
    if (call.name === "fsm_enter") return enters(call, here, report);
    if (call.name === "script_run") {
      const name = bareText(primitive, call.given) ?? call.given["name"] ?? "";
      const sub = name !== "" && Object.hasOwn(scripts, name) ? scripts[name] : undefined;
      return sub === undefined ? here : body(sub, sub.flow.main, here, report, depth);
    }
    if (rows[0] === "decide") return change(here, "POLICY_CHECK", { judged: true });
    return rows[0] === "ask" ? change(here, "APPROVAL_GATE", { asked: true }) : here;
  };

  /** A function or sub-script is left at its end or by return. */
  const body = (script: StateScript, flow: Flow, points: Points, report: boolean, depth: number): Points => {
    if (typeof flow === "number") return calling(script, flow, points, report, depth);
    if (active.has(flow)) return shifts(script, flow, registry) ? ANYWHERE : points;
    active.add(flow);
    const { next, back } = walk(script, flow, points, report, depth + 1);
    active.delete(flow);
    return join(next, back);
  };

  const walk = (script: StateScript, flow: Flow, points: Points, report: boolean, depth: number): Ways => {
    if (points.size === 0) return { next: NOWHERE, stop: NOWHERE, back: NOWHERE };
    if (depth > MAX_DEPTH) return { next: ANYWHERE, stop: ANYWHERE, back: ANYWHERE };
    if (typeof flow === "number") return straight(calling(script, flow, points, report, depth));
    const key = `${[...points.keys()].sort().join()} ${report}`;
    const seen = known.getOrInsertComputed(flow, () => new Map<string, Ways>());
    return seen.getOrInsertComputed(key, () => follow(script, flow, points, report, depth + 1));
  };

  const follow = (script: StateScript, flow: Exclude<Flow, number>, points: Points, report: boolean, depth: number): Ways => {
    if ("all" in flow) {
      let ways = straight(points);
      for (const part of flow.all) {
        const { next, stop, back } = walk(script, part, ways.next, report, depth);
        ways = { next, stop: join(ways.stop, stop), back: join(ways.back, back) };
      }
      return ways;
    }
    if ("one" in flow) {
      const ways = flow.one.map((part) => walk(script, part, points, report, depth));
      const gather = (where: keyof Ways) => join(...ways.map((way) => way[where]));
      return { next: gather("next"), stop: gather("stop"), back: gather("back") };
    }
    if ("loop" in flow) {
      let head = points;
      // The set of states at the head of a loop only grows, and is small.
      for (let grown = flow.once !== true; grown; ) {
        const turn = walk(script, flow.loop, head, false, depth);
        const wider = join(head, turn.next, turn.stop);
        grown = wider.size > head.size;
        head = wider;
      }
      const { next, stop, back } = walk(script, flow.loop, head, report, depth);
      // A labelled break also leaves outer loops.
      return { next: flow.once === true ? join(next, stop) : head, stop, back };
    }
    if ("go" in flow) {
      const gone = { next: NOWHERE, stop: NOWHERE, back: NOWHERE };
      return flow.go === "end" ? gone : { ...gone, [flow.go === "stop" ? "stop" : "back"]: points };
    }
    const code = script.flow.functions["run" in flow ? flow.run : flow.later] ?? { all: [] };
    if ("run" in flow) return straight(body(script, code, points, report, depth));
    body(script, code, ANYWHERE, report, depth);
    return straight(shifts(script, code, registry) ? ANYWHERE : points);
  };

  const main = scripts[""];
  const first = startOf(machine).current;
  if (main !== undefined) body(main, main.flow.main, pointsOf([{ current: first, judged: false, asked: false, gates: 0 }]), true, 0);
  return { findings: [...findings.values()], calls };
}

/** The transitions that the run's state machine allows from here, for every kind of verdict. An escalation is asked once, after POLICY_CHECK. */
function movesOf(machine: Machine, { current, judged, asked, gates }: Point, to: State): Move[] {
  if (current === null) return ["enter"];
  const answered = asked ? ("approved" as const) : null;
  const at = { ...startOf(machine), current, gates, answered, escalated: current !== "POLICY_CHECK" };
  return (judged ? VERDICTS : [null]).map((verdict) => move({ ...at, verdict }, to));
}

/** True if the code can move the run, or could undo an earlier refusal: after it the run may be anywhere. */
function shifts(script: StateScript, flow: Flow, registry: Registry): boolean {
  const seen = new Set<Flow>();
  for (const open = [flow]; open.length > 0; ) {
    const at = open.pop() ?? 0;
    if (typeof at === "number") {
      const name = script.calls[at]?.name ?? "";
      const access = registry.has(name) ? registry.get(name).access : "pure";
      if (name === "fsm_enter" || name === "script_run" || access === "decide" || access === "ask") return true;
    } else if (!seen.has(at)) {
      seen.add(at);
      if ("all" in at) open.push(...at.all);
      else if ("one" in at) open.push(...at.one);
      else if ("loop" in at) open.push(at.loop);
      else if (!("go" in at)) open.push(script.flow.functions["run" in at ? at.run : at.later] ?? { all: [] });
    }
  }
  return false;
}

function outOfState(name: string, why: string, points: readonly Point[], machine: Machine, states: readonly State[]): string {
  const here = [...new Set(points.map((point) => point.current).filter((state) => state !== null))];
  const own = machine.states.map((one) => one.state).filter((state) => states.includes(state));
  const what = why === "" ? name : `${name} (${why})`;
  const where = here.length === 0 ? "in no state of this agent" : `not in ${here.join(" or ")}, where the run is here`;
  const allowed = [...new Set(states)].join(", ");
  return own.length === 0
    ? `${what} is allowed ${where}, only in ${allowed}. Add that state to the header's states:, or drop the call.`
    : `${what} is allowed ${where}, only in ${allowed}. Move it behind fsm_enter("${own[0]}").`;
}

function pointsOf(points: readonly Point[]): Points {
  return new Map(points.map((point) => [`${point.current}${point.judged ? "+" : "-"}${point.asked ? "+" : "-"}${point.gates}`, point]));
}

function join(...all: Points[]): Points {
  return new Map(all.flatMap((points) => [...points]));
}

function change(points: Points, state: State, to: Partial<Point>): Points {
  return pointsOf([...points.values()].map((point) => (point.current === state ? { ...point, ...to } : point)));
}

function straight(next: Points): Ways {
  return { next, stop: NOWHERE, back: NOWHERE };
}

/** For other tools of a trusted server, only the server knows whether they write. */
export function toolClassIn(trust: Pick<Trust, "mcp">): ToolClassOf {
  return (tool) => {
    const [server = "", ...rest] = tool.split("/");
    const known = Object.hasOwn(trust.mcp, server) ? trust.mcp[server] : undefined;
    const name = rest.join("/");
    const found = known === undefined ? classByName(tool) : classIn(known, name);
    return known?.trusted === true && found?.class === "mutate" && known.tools[name]?.class === undefined ? null : found;
  };
}
