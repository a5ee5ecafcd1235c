/**
 * The recorded steps past the first difference, matched with what other code calls now: by name, parameters and how often. Each recorded
 * step answers once. What matches moves the trial's clock to when it was recorded.
 */
import { canonicalJson } from "../../kernel/canonical.ts";
import type { Call, Decision, DoorCall, Effect, Json, Step } from "../../kernel/ports.ts";
import type { Gate } from "../../kernel/primitive.ts";

export interface Recorded {
  /** The call that is under way: its recorded twin is taken, if there is one. */
  called(call: DoorCall): void;
  /** The recorded twin of the call under way. */
  readonly twin: Step | null;
  /** What the call under way was answered last, however often it was made; null where it never was, or something was done outside since. */
  again(): Step | null;
  /** ms: when the last twin was recorded. */
  now(): number;
  /** The key a call is deduplicated by: its twin's place in the history, else one that no recorded step has. */
  key(run: string, seq: number): string;
  /** What was decided, when the same was asked. */
  decisionOf(gate: Gate): Decision | null;
  /** Who decided first in the recorded run; "a person" where nobody did. */
  readonly decider: string;
  /** The recorded effect of a call whose parameter has this value, or null. */
  effectOf(parameter: string, value: string): Effect | null;
  /** The call under way acts outside. Answers whether all that was done outside before it is what was done before its twin. */
  follows(acts: boolean): boolean;
  /** Names of recorded commits, in order, then made up ones. */
  commit(): string;
}

/** `served`: how many of the steps the child answers by itself. */
export function createRecorded(all: readonly Step[], served: number, began: number): Recorded {
  const steps = all.slice(served);
  let queues: Map<string, Step[]> | null = null;
  let twin: Step | null = null;
  let clock = Math.max(began, all[served - 1]?.at ?? 0);
  const decided = new Set<Step>();
  const commits = steps.flatMap((step) => step.changes.flatMap((change) => (change.op === "committed" ? [change.commit] : [])));
  let supposed = 0;
  const isAct = (step: Step) => step.effect === "external" && step.state === "ok";
  const outside = all.slice(0, served).filter(isAct).map(keyOf);
  let underWay = "";
  /** True when exactly that was done outside so far which was done before this recorded step. */
  const isAsBefore = (seq: number): boolean => {
    const before = all.filter((step) => isAct(step) && step.seq < seq).map(keyOf);
    return before.length === outside.length && before.sort().join("\n") === [...outside].sort().join("\n");
  };

  return {
    called(call) {
      queues ??= Map.groupBy(steps, (step) => keyOf(step));
      underWay = keyOf(call);
      twin = queues.get(underWay)?.shift() ?? null;
      if (twin !== null) clock = Math.max(clock, twin.at);
    },
    get twin() {
      return twin;
    },
    again: () => all.findLast((step) => step.state === "ok" && keyOf(step) === underWay && isAsBefore(step.seq)) ?? null,
    now: () => clock,
    key: (run, seq) => `${run}/${twin?.seq ?? all.length + seq}`,
    decisionOf(gate) {
      const asked = gate.card.kind === "form" ? canonicalJson(gate.card.fields) : callsKey(gate.card.calls);
      const isSame = (step: Step): boolean => {
        const decision = decisionIn(step);
        if (decision === null || decided.has(step)) return false;
        const params = JSON.parse(step.params) as { calls?: Call[]; fields?: Json };
        if (gate.card.kind === "form") return params.fields !== undefined && canonicalJson(params.fields) === asked;
        return gate.card.calls.length > 0 && callsKey(params.calls ?? []) === asked;
      };
      const found = twin !== null && decisionIn(twin) !== null ? twin : steps.find(isSame);
      if (found === undefined) return null;
      decided.add(found);
      clock = Math.max(clock, found.at);
      return decisionIn(found);
    },
    decider: all.map(decisionIn).find((one) => one !== null)?.by ?? "a person",
    effectOf(parameter, value) {
      if (twin !== null) return twin.effect;
      const found = all.find(
        (step) => step.params.includes(value) && (JSON.parse(step.params) as Record<string, Json>)[parameter] === value,
      );
      return found?.effect ?? null;
    },
    follows(acts) {
      const isSame = isAsBefore(twin?.seq ?? 0);
      if (acts) outside.push(underWay);
      return isSame;
    },
    commit: () => commits.shift() ?? `${++supposed}`.padStart(40, "0"),
  };
}

/** Calls as one text, whatever their order. */
export function callsKey(calls: readonly Call[]): string {
  return calls
    .map(({ tool, params }) => canonicalJson([tool, params]))
    .sort()
    .join("\n");
}

function keyOf({ name, params }: Pick<Step, "name" | "params">): string {
  return `${name}\n${canonicalJson(JSON.parse(params))}`;
}

function decisionIn(step: Step): Decision | null {
  const answered = step.changes.find((change) => change.op === "answered");
  if (answered !== undefined) return { card: 0, decision: "approved", by: answered.by, at: step.at, result: answered.values };
  const change = step.changes.find((one) => one.op === "decided");
  if (change === undefined) return null;
  const { decision, by, calls, people, self } = change;
  const told = { ...(people === undefined ? {} : { people }), ...(self === undefined ? {} : { self }) };
  // approval_wait tells its script why it was a no.
  const reason = (JSON.parse(step.result ?? "null") as { reason?: string } | null)?.reason;
  return {
    card: 0,
    decision,
    by,
    at: step.at,
    // A yes is to what is asked now; only an edit brings its own calls.
    ...(decision === "edited" ? { calls } : {}),
    ...(typeof reason === "string" ? { reason } : {}),
    ...told,
  };
}
