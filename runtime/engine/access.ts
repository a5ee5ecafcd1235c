/**
 * The one question run.ts asks before a call: may this run make it now? The answer depends on the header's `uses:`, the state the run is in,
 * the amounts it would write, and for an act outside on a person's approval where one is demanded. Each approval covers one call.
 */
import { ClearedError } from "../kernel/errors.ts";
import type { Access, Call, Change, Demanded, Effect, Json, Step, VerifiedWrite } from "../kernel/ports.ts";
import { type Primitive, type StepContext, parseParams } from "../kernel/primitive.ts";
import { type Machine, type ProcessState, type Refusal, entered, gateDemanded, judged, startOf, statesFor } from "../kernel/states.ts";
import { countJudged, type Judged } from "../rules/tools/judged.ts";
import { amountsIn, numbersOf } from "../rules/tools/trace.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { assertFilledIn, notCovered } from "./approval.ts";
import { type Figures, findBrokenSum, findHole, findUntracedAmount, notJudged } from "./call-faults.ts";

/** The rights a run has gained and used so far; rebuilt from the history, so they survive a kill. */
export interface RunState {
  /** The header's `uses:`: domains, and `agent:NAME`. */
  uses: readonly string[];
  /** Null for an agent without `states:`. */
  process: ProcessState | null;
  readOnly: boolean;
  /** Approved calls not yet made, as canonical text. */
  approved: string[];
  /** The level that the question of an approved call named, by the call as canonical text. */
  levels: Map<string, string | null>;
  /** The call that is being made. */
  call: Call | null;
  /** Null while nobody has rejected anything. */
  rejected: Refusal | null;
  approvals: { by: string; at: number; self?: boolean }[];
  figures: Figures;
  /** The run's input, then what it has read, as JSON: a text found in it is a copy, not built by the script. */
  texts: string[];
  writes: VerifiedWrite[];
  /** Records as last seen, by the reading call as canonical text: what the call returned, or what a later write left. */
  seen: Map<string, Json>;
  /** Calls outside, whether or not anything reads them back. */
  made: Call[];
  /** Why the policy decides nothing alone, as a sentence: what it judged may not be so. */
  doubted: string | null;
  /** Whom the policies ask for with any facts. */
  most: Demanded | null;
  /** Tools of calls outside: asked for at gates, made, and refused by a person (spec/worker.md 17.3). */
  calls: { planned: string[]; executed: string[]; declined: string[] };
  /** A person has approved other figures than the script asked for. */
  edited: boolean;
  /** What the result says about the case when the run ends before its script. */
  about: { [field: string]: Json };
  /** `strategy:` of the sub-scripts it called; null where none names one. */
  strategy: string | null;
  judged: Judged;
  /** Beginnings of texts that a model wrote with figures it was not given. */
  doubtful: string[];
  /** Writes whose record differs from the request, or could not be looked up, and that no person has accepted yet. */
  open: VerifiedWrite[];
}

/** What one call is: its effect, its row of the table, and how approvals name it. */
export interface Act {
  effect: Effect;
  access: Access;
  call: Call;
  params: Record<string, unknown>;
}

export function newRunState(uses: readonly string[], machine: Machine | null, readOnly: boolean, input: Json): RunState {
  const process = machine === null ? null : startOf(machine);
  const figures = { known: new Map<string, number>(), unread: [] };
  const judged: Judged = { figures: new Map(), currencies: new Set(), facts: [], said: new Set() };
  const answered = {
    approved: [],
    levels: new Map<string, string | null>(),
    call: null,
    rejected: null,
    approvals: [],
    about: {},
    strategy: null,
    doubtful: [],
  };
  const acted = { writes: [], seen: new Map<string, Json>(), made: [], open: [], calls: { planned: [], executed: [], declined: [] } };
  return {
    uses,
    process,
    readOnly,
    ...answered,
    ...acted,
    doubted: null,
    most: null,
    edited: false,
    figures,
    texts: [JSON.stringify(input)],
    judged,
  };
}

/**
 * Most primitives have a fixed effect; for some calls the tool's class or the child agent's rights decide. A call in doubt keeps the effect
 * it was started with, because what decides may be unreachable now.
 * @throws PARAMS_INVALID, and what classify throws
 */
export async function actOf(primitive: Primitive, raw: Json, ctx: StepContext, doubt: Step | undefined): Promise<Act> {
  const { effect, access } = primitive;
  if (effect !== "external" && effect !== "notify") {
    const params = raw as Record<string, Json>;
    return { effect, access, call: { tool: primitive.name, params }, params };
  }
  const params = parseParams(primitive, raw);
  const call = callOf(primitive, params);
  if (doubt !== undefined) return { effect: doubt.effect, access, call, params };
  if (ctx.run.mode === "live") assertFilledIn(call);
  return { effect, access, ...(await primitive.classify?.(params, ctx)), call, params };
}

function callOf(primitive: Primitive, params: Record<string, unknown>): Call {
  return primitive.call?.(params) ?? { tool: primitive.name, params: params as Json };
}

/**
 * Counts a recorded step, live or on resume. A call that has only an intent has used its approval too.
 * @throws FSM_MACHINE when the run was moved to code with other states
 */
export function applyStep(state: RunState, step: Step, primitive: Primitive | undefined): void {
  const { process } = state;
  // A statement by a model or by another party is not a source of an amount.
  const stated = primitive?.access === "model" || primitive?.stated === true;
  const assessed = step.effect === "read" && process?.current === "ASSESS" && !stated;
  if (process !== null && step.error === null && (step.effect === "pure" || assessed)) state.figures.unread.push(step);
  if (step.effect === "read" && !stated) state.texts.push(step.result ?? "");
  if (step.effect === "read" && step.error === null && primitive?.call !== undefined)
    state.seen.set(canonical(primitive.call(JSON.parse(step.params))), JSON.parse(step.result ?? "null"));
  for (const change of step.changes) {
    if (change.op === "decided") {
      const { by, self } = change;
      const no = change.decision === "rejected";
      // A rejection cancels earlier approvals that were not used yet.
      if (no) state.approved = [];
      state.approved.push(...change.calls.map((call) => canonical(call)));
      const question = change.given?.question as { calls?: Call[]; level?: string | null } | undefined;
      for (const call of change.calls) state.levels.set(canonical(call), question?.level ?? null);
      const asked = question?.calls ?? change.calls;
      state.calls.planned.push(...asked.map((call) => call.tool));
      if (no) state.calls.declined.push(...asked.map((call) => call.tool));
      if (no) state.rejected = refusalIn(change);
      else state.approvals.push(...(change.people ?? [{ by, at: step.at, ...(self === undefined ? {} : { self }) }]));
      if (process !== null) {
        process.answered = no ? "rejected" : "approved";
        process.instead = change.instead === true;
        process.refusal = state.rejected;
      }
      // Amounts that a person wrote need no other source.
      if (change.decision === "edited") state.edited = true;
      if (change.decision === "edited")
        for (const call of change.calls) for (const { value } of amountsIn(call.params)) numbersOf(value, state.figures.known);
    } else if (change.op === "answered") numbersOf(change.values, state.figures.known);
    else if (change.op === "verified") {
      state.writes.push(change.write);
      if (change.write.read !== null) state.seen.set(canonical(change.write.read), change.write.after);
      if (change.write.status === "MISMATCH" || change.write.status === "UNVERIFIABLE") state.open.push(change.write);
    } else if (change.op === "accepted") state.open = [];
    else if (change.op === "about") state.about = change.about;
    else if (change.op === "strategy") state.strategy = change.strategy;
    else if (change.op === "doubtful") state.doubtful.push(beginning(change.text));
    else if (process === null) continue;
    else if (change.op === "verdict") {
      judged(process, change.verdict);
      state.most = change.most ?? change.verdict;
      const { facts = {} } = JSON.parse(step.params) as { facts?: Record<string, Json> };
      // A fact that the policy does not declare is not judged by any rule.
      const seen = Object.entries(facts).filter(([name]) => change.declared?.includes(name) !== false);
      countJudged(Object.fromEntries(seen), change.currency, state.judged);
    } else if (change.op === "entered") {
      if (change.machine !== process.machine.hash)
        throw new ClearedError(
          "FSM_MACHINE",
          `Step ${step.seq} belongs to another state machine than the script's states: define. Migrate the run to code with the same states.`,
        );
      entered(process, change.state, change.why);
    }
  }
  if (primitive !== undefined && step.effect === "external") {
    // With defaults filled in, as `allowed` saw it: the raw call may differ as text, and its approval would never be used up.
    const raw = JSON.parse(step.params) as Record<string, Json>;
    const call = callOf(primitive, primitive.params.safeParse(raw).data ?? raw);
    if (step.error === null || step.changes.some(({ op }) => op === "verified")) state.made.push(call);
    if (step.state === "ok" && step.error === null) state.calls.executed.push(call.tool);
    // Whoever approved a call that has no read-back has accepted that its write cannot be verified.
    if (spend(state, call))
      state.open = state.open.filter(
        (one) => one.read !== null || !step.changes.some((change) => "write" in change && change.write === one),
      );
  }
}

type Decided = Extract<Change, { op: "decided" }>;

/** The first 60 characters, escaped as inside JSON text. */
export const beginning = (text: string): string => JSON.stringify(text.slice(0, 60)).slice(1, -1);

function refusalIn({ by, given, reason = given?.signed.findLast((one) => one.decision === "rejected")?.reason }: Decided): Refusal {
  return { by, why: `${by} said no${reason === undefined ? "" : `: ${reason}`}`, ...(reason === undefined ? {} : { reason }) };
}

/** True when a decision among these changes approves exactly this call. */
export function covers(changes: readonly Change[], call: Call): boolean {
  return changes.some((change) => change.op === "decided" && change.calls.some((one) => canonical(one) === canonical(call)));
}

/** "yes", "ask" when a person has to agree to exactly this call first, or the error the script gets. */
export function allowed(primitive: Primitive, act: Act, state: RunState): "yes" | "ask" | ClearedError {
  const needed = [primitive.capability?.(act.params) ?? primitive.domain, ...(primitive.needs?.(act.params) ?? [])];
  const capability = needed.find((one) => !state.uses.includes(one));
  if (capability !== undefined)
    return new ClearedError(
      "SCRIPT_CAPABILITY",
      `${primitive.name} is in the domain "${capability}", which the header does not name. Write uses: [${[...state.uses, capability].join(", ")}].`,
    );
  const { process } = state;
  // By its row of the table too: emitting an event has the effect control, but starts other runs.
  const changes = act.effect === "write" || act.effect === "external" || act.effect === "notify" || act.access === "notify";
  if (state.readOnly && changes)
    return new ClearedError(
      "FSM_READ_ONLY",
      `This run may only read, and ${act.call.tool} would change something. Start it without --read-only.`,
    );
  if (process !== null && !statesFor(act.access).includes(process.current)) return wrongState(act, process);
  if (process !== null && (act.effect === "write" || act.effect === "external")) {
    const wrong = findUntracedAmount([act.call], state) ?? findBrokenSum([act.call]);
    if (wrong !== null) return wrong;
  }
  const doubtful = changes ? state.doubtful.find((one) => JSON.stringify(act.call.params).includes(one)) : undefined;
  if (doubtful !== undefined)
    return new ClearedError(
      "LLM_UNSUPPORTED",
      `${act.call.tool}: the text "${doubtful}..." was written by a model, with figures it was not given. Look at what llm_summarize lists under unsupported, and use only a text without any.`,
    );
  if (act.effect === "external" && state.approved.includes(canonical(act.call))) return "yes";
  const hole = process !== null && act.effect === "external" ? findHole([act.call], state) : null;
  if (hole !== null) return hole;
  if (process !== null && state.rejected !== null && (act.access === "write" || act.effect === "external"))
    return new ClearedError(
      "APPROVAL_REQUIRED",
      `${state.rejected.why}. After that only the calls named under otherwise: may be made, unchanged.`,
    );
  // A copy of a run enters MUTATE on a gate that was answered for the original: its writes need their own approval.
  if (act.access === "write" && process !== null && gateDemanded(process) && process.answered !== "approved") return "ask";
  if (act.effect !== "external") return "yes";
  if (process !== null) return gateDemanded(process) || notJudged([act.call], state) !== null ? "ask" : "yes";
  return notCovered(act.call, state.approved);
}

function wrongState(act: Act, process: ProcessState): ClearedError {
  const allowedIn = statesFor(act.access).filter(
    (state) => state === "ESCALATE" || state === "FAILED" || process.machine.states.some((one) => one.state === state),
  );
  return new ClearedError(
    "FSM_STATE",
    `${act.call.tool} (${act.access}) is not allowed in ${process.current}. It is in ${allowedIn.join(", ") || "none of this agent's states"}: fsm_enter one of them first.`,
    { data: { state: process.current, access: act.access } },
  );
}

function spend(state: RunState, call: Call): boolean {
  const index = state.approved.indexOf(canonical(call));
  if (index >= 0) state.approved.splice(index, 1);
  return index >= 0;
}

export function canonical(call: Call): string {
  return canonicalJson([call.tool, call.params ?? null]);
}
