/**
 * What the business process adds to a run: who is asked at a gate and what they are told, the answer's completeness, and what is told
 * beside the result. run.ts asks; states.ts has the rules of the machine.
 */
import { approvalBrief } from "../rules/answers/documents.ts";
import { asksForList, rankedAnswer } from "../rules/answers/ranked.ts";
import { assertWhole, missingFields } from "../rules/answers/required.ts";
import { runMetadata, standing } from "../rules/answers/mutations.ts";
import { ClearedError, type WireError } from "../kernel/errors.ts";
import { clip } from "../kernel/text.ts";
import type { Call, CardDraft, Decision, Json, Outcome, RunRecord, Step } from "../kernel/ports.ts";
import { End, type Gate, type StepContext } from "../kernel/primitive.ts";
import type { Header } from "../scripts/header.ts";
import type { ProcessState } from "../kernel/states.ts";
import { amountsOf } from "../rules/tools/trace.ts";
import { takeBack } from "../rules/tools/undo.ts";
import { keyOf, scalarsOf } from "../rules/edits.ts";
import { type RunState, findBrokenSum, findHole, findUntracedAmount, notJudged } from "./access.ts";
import type { Demands } from "./approval.ts";

/**
 * Who must decide a card, and the brief that goes with it. The policy's demands hold whatever the script asks for.
 * @throws AMOUNT_UNTRACED, AMOUNT_SUM, TEXT_INCOMPLETE when what it asks for came from nowhere, does not add up, or lacks a word
 */
export function demandsOf(
  card: Gate["card"],
  state: RunState,
  run: RunRecord,
  header: Header,
  people: number,
  now: number,
): Partial<Demands> {
  const started_by = startedBy(run);
  if (card.kind === "in_doubt" || card.kind === "form") return { started_by };
  // A no ends the process: what was refused is not asked for once more.
  if (state.process !== null && state.rejected !== null && card.calls.length > 0)
    throw new End("rejected", state.rejected.why, state.rejected);
  const question = { tool: "the question", params: card.title };
  const wrong =
    state.process === null
      ? null
      : (findUntracedAmount(card.calls, state) ?? findBrokenSum(card.calls, card.body) ?? findHole([...card.calls, question], state));
  if (wrong !== null) throw wrong;
  const verdict = state.process?.verdict ?? null;
  const asked = whoMay(card, state, run, people);
  return {
    ...asked,
    started_by,
    ...(state.process === null
      ? {}
      : {
          ...stateLine(state.process),
          brief: approvalBrief({
            process: header.process ?? run.agent,
            title: card.title,
            calls: card.calls,
            verdict,
            level: asked.level,
            risk: header.risk,
            amounts: amountsOf(card.calls),
            not_judged: verdict === null ? null : notJudged(card.calls, state),
            by: "",
            at: now,
          }) as unknown as Json,
        }),
  };
}

/** Who or what gave a run to be done, in words. `from` of a cause: the run behind it, as app/starts.ts wrote it down. */
export function startedBy({ by, cause: { kind, detail } }: Pick<RunRecord, "by" | "cause">): string {
  const { owner, webhook, from } = (detail ?? {}) as { owner?: string; webhook?: string; from?: { agent: string; asked: string } };
  // Owners in capitals are no token's name: a program of this user, or anybody.
  const whose = owner === undefined || /^[A-Z]/.test(owner) ? "" : ` of ${owner}`;
  const words: Record<RunRecord["cause"]["kind"], string> = {
    ...{ command: "a command", exec: "cleared exec", watch: "a file", webhook: `the webhook ${webhook ?? ""}`, agent: "another agent" },
    ...{ a2a: `a task${whose}`, mcp: `a chat client${whose}`, fork: "a fork of another run", migrate: "a move to other code" },
    ...{ schedule: "the schedule", event: "an event" },
  };
  if (from !== undefined) return `the agent ${from.agent}${kind === "agent" ? "" : `, by ${words[kind]}`}; asked by ${from.asked}`;
  if (by === undefined) return words[kind];
  return kind === "command" ? by : `${by}, by ${words[kind]}`;
}

/** The card as its run would ask it now: with several people nobody decides what they have started, also where it was opened before they came. */
export function asAskedNow<C extends Pick<CardDraft, "kind" | "not_by">>(card: C, { by }: RunRecord, people: number): C {
  const barred = people > 1 && by !== undefined && card.kind !== "in_doubt" && card.kind !== "form";
  return barred ? { ...card, not_by: by } : card;
}

/** Who must decide, as far as the run stands. */
export function whoMay(
  card: Pick<Gate["card"], "kind" | "level" | "calls">,
  state: RunState,
  run: RunRecord,
  people: number,
): Pick<CardDraft, "level"> & Partial<Demands> {
  if (card.kind === "in_doubt" || card.kind === "form") return { level: card.level };
  const verdict = state.process?.verdict ?? null;
  const barred = run.by !== undefined && (people > 1 || verdict?.distinct_from_requester === true);
  const levels = [...new Set([...(verdict?.levels ?? []), ...(card.level === null ? [] : [card.level])])];
  return {
    level: verdict?.level ?? card.level,
    ...(levels.length === 0 ? {} : { levels }),
    ...((verdict?.approvals ?? 1) > 1 ? { approvals: verdict?.approvals ?? 1 } : {}),
    ...(barred ? { not_by: run.by ?? "" } : {}),
    ...(verdict === null ? {} : { records: recordsIn(card.calls, state) }),
  };
}

/** Paths of what these calls name as the run's reads did: `employee_id: "E-7"`. */
function recordsIn(calls: readonly Call[], { seen }: RunState): string[] {
  const named = (path: string, value: Json) => (typeof value === "string" ? `${keyOf(path)} ${value}` : "");
  const reads = [...seen.keys()].map((one) => JSON.parse(one) as [tool: string, params: Json]).map(([tool, params]) => ({ tool, params }));
  const read = new Set([...scalarsOf(reads)].map(([path, value]) => named(path, value)));
  return [...scalarsOf(calls)].flatMap(([path, value]) => (typeof value === "string" && read.has(named(path, value)) ? [path] : []));
}

/** The commit's trailer that names who approved. */
export function approversOf(state: RunState): Record<string, string> {
  const people = [...new Set(state.approvals.map((one) => one.by))];
  return people.length === 0 ? {} : { "Approved-by": people.join(", ") };
}

function stateLine({ current, machine }: ProcessState): { state?: string } {
  const line = machine.states.find((one) => one.state === current)?.line ?? "";
  return line === "" ? {} : { state: `${current}: ${line}` };
}

/**
 * True when a profile of trust.yaml may answer this gate for a person: not where the policy escalates, blocks, could not be decided or asks
 * for two people or for another than the requester, nor where a caller gave the run rules or tools of its own.
 */
export function mayStandIn(card: Gate["card"], state: RunState, run: RunRecord): boolean {
  const verdict = state.process?.verdict ?? null;
  const plain =
    verdict === null ||
    (!verdict.blocked &&
      !verdict.escalation_required &&
      verdict.approvals < 2 &&
      !verdict.distinct_from_requester &&
      verdict.indeterminate.length === 0 &&
      notJudged(card.calls, state) === null);
  return card.kind === "approval" && plain && run.given?.policy === undefined && run.given?.tools === undefined;
}

/** A call that no gate has covered asks for itself. @throws Suspend, End when a person says no, APPROVAL_REQUIRED */
export async function askFor(call: Call, ctx: StepContext, state: RunState): Promise<void> {
  const not_judged = state.process?.verdict?.passed === true ? notJudged([call], state) : null;
  const decision = await ctx.gate({
    reason: "approval",
    card: { kind: "approval", title: `Allow ${call.tool}?`, body: not_judged && { not_judged }, calls: [call], level: null, expires: null },
  });
  if (decision.decision === "rejected")
    throw new End(
      "rejected",
      `${decision.by} said no to ${call.tool}${decision.reason === undefined ? "" : `: ${decision.reason}`}`,
      decision,
    );
  if (decision.decision === "edited")
    throw new ClearedError(
      "APPROVAL_REQUIRED",
      `${call.tool} was approved with other parameters than it was called with. Ask with approval_wait and use the calls it answers.`,
    );
}

const lookedAt = (ctx: StepContext, title: string, body: Json): Promise<Decision> =>
  ctx.gate({ reason: "escalation", card: { kind: "escalation", title, body, calls: [], level: null, expires: null } });

/** A person looks at what the policy or the script could not settle. Answers what the run ends with when they stop it. @throws Suspend */
export async function resolveEscalation(ctx: StepContext, { process, about }: RunState, why?: string): Promise<End | null> {
  const asks = why ?? process?.why ?? process?.verdict?.summary ?? `${ctx.run.agent} needs a person`;
  // What the policy was asked about names the case first.
  const [of] = Object.values(about);
  const title = typeof of === "string" && of !== "" && !asks.includes(of) ? `${clip(of, 80)}: ${asks}` : asks;
  const { decision, by, reason } = await lookedAt(ctx, title, { about, verdict: (process?.verdict ?? null) as unknown as Json });
  return decision === "rejected" ? new End("rejected", `${by} said no: ${reason ?? "it was stopped after the escalation"}`, { by }) : null;
}

/**
 * Nothing follows a write that is not what was asked for before a person has looked at it; `all`: nor one that could not be looked up, which
 * is asked before somebody is told and at the end. @throws Suspend, End when they stop it there
 */
export async function settleWrites(ctx: StepContext, { process, open, writes }: RunState, all: boolean): Promise<void> {
  const asked = process === null ? [] : open.filter((one) => all || one.status === "MISMATCH");
  const [first] = asked;
  if (first === undefined) return;
  const { stands, not_verified } = standing(writes);
  const what = first.status === "MISMATCH" ? "says it wrote, its record says otherwise" : "wrote, and it could not be looked up what";
  const undo = writes.flatMap((one) => (one.undo === undefined ? [] : [{ tool: one.tool, ...one.undo }]));
  const rest = undo.length === 0 ? "what was written stays" : "each undo is then asked for separately";
  const question = `Look at each record outside and correct what is wrong there. Approve to go on as it is; reject to end ${ctx.run.agent} here: ${rest}.`;
  const undoing = undo.length === 0 ? {} : { take_back: undo as unknown as Json };
  const body = {
    question,
    not_verified,
    stands,
    ...undoing,
    writes: asked.map(({ tool, params, diff, answer }) => ({ tool, params, diff, answer })),
  };
  const { decision, by, reason } = await lookedAt(ctx, `${first.status}: ${first.tool} ${what}`, body);
  if (decision === "rejected") {
    const more = undo.length === 0 ? {} : { take_back: await takeBack(ctx, writes) };
    throw new End("rejected", `${by} said no: ${reason ?? not_verified.join("; ")}`, { by, more });
  }
  ctx.changed({ op: "accepted", by });
}

/**
 * How a script that came to its end has ended, and its result in the form its header promises.
 * @throws OUTPUT_INCOMPLETE, FSM_GATE when the policy asked for a person and the script ended without one
 */
export function answerOf(result: Json, state: RunState, run: RunRecord, header: Header): { outcome: Outcome; result: Json } {
  const { process } = state;
  const verdict = process?.verdict ?? null;
  const { not_verified } = standing(state.writes);
  const isTold = not_verified.length > 0 && typeof result === "object" && result !== null && !Array.isArray(result);
  const told = isTold ? { ...result, not_verified } : result;
  const no = state.rejected !== null ? "rejected" : process?.current === "FAILED" || verdict?.blocked === true ? "blocked" : null;
  if (no === null && verdict?.escalation_required === true && process?.escalated === false && process.current !== "ESCALATE")
    throw new ClearedError(
      "FSM_GATE",
      `${verdict.summary}: the policy escalates, and the script ended without asking. Call fsm_enter("ESCALATE").`,
    );
  const task = (run.input as { task?: Json } | null)?.task;
  if (no !== null) return { outcome: no, result: withCase(no, told, state, header) };
  const list = header.answer === "ranked_list" || (typeof task === "string" && asksForList(task)) ? rankedAnswer(result) : null;
  if (list !== null) return { outcome: "completed", result: list };
  assertWhole(result, { process: header.process ?? null, output: header.output, sums: process !== null });
  return { outcome: "completed", result: told };
}

/**
 * What is told beside the result; nothing for a run that has neither states nor answers of people nor writes outside. `end`: what ended
 * it before its script did.
 */
export function metaOf(state: RunState, run: RunRecord, header: Header, now: number, end: End | "failed" | null): { meta?: Json } {
  const { process, writes, approvals } = state;
  const rejected = end instanceof End && end.outcome === "rejected" ? end.why : (state.rejected?.why ?? null);
  const strategy = state.strategy ?? (process === null ? null : "fsm");
  if (strategy === null && writes.length === 0 && approvals.length === 0 && rejected === null) return {};
  const meta = runMetadata({
    process: header.process ?? run.agent,
    verdict: process?.verdict ?? null,
    writes,
    duration_ms: Math.max(0, now - run.createdAt),
    approvals,
    rejected,
    completed: end === null,
  });
  const course = process === null ? {} : { states: [...process.before, process.current] };
  const calls = Object.values(state.calls).every((tools) => tools.length === 0) ? {} : { calls: state.calls };
  return { meta: { ...(meta as unknown as Record<string, Json>), ...calls, ...course, ...(strategy === null ? {} : { strategy }) } };
}

const FIELD = /^Cannot (?:read|set) properties of (?:undefined|null) \((?:reading|setting) '(.*)'\)$/;
const NOTHING = /^(?:null|\[\]|\{\}|\{"found":false|\{"records":\[\])/;

/** An answer after a no, with what it was about; what the process should have known by then and did not tell is named, so nobody takes it for whole. */
function withCase(outcome: Outcome, result: Json, { about }: RunState, header: Header): Json {
  const process = header.process ?? null;
  if (typeof result !== "object" || Array.isArray(result) || (result === null && process === null)) return result;
  const whole = { ...about, ...(process === null ? {} : { decision: outcome }), ...result };
  const not_known = missingFields(process, {}, whole, true).map((one) => one.split(" ")[0] ?? one);
  return not_known.length === 0 ? whole : { ...whole, not_known };
}

/** The answer of a run that the policy, a person or time has ended before its script: what it was about, whose decision, why, what stands. */
export function endedBy({ outcome, why, by: person, more }: End, state: RunState, header: Header): Json {
  const { process, writes } = state;
  const by = outcome === "rejected" ? (person ?? "a person") : outcome === "expired" ? "nobody" : "policy";
  const told = {
    outcome,
    ...(process === null ? {} : { decision: outcome, by, summary: outcome === "rejected" ? why : `${outcome} by ${by}: ${why}` }),
    reason: why,
    ...(writes.length === 0 ? {} : standing(writes)),
    ...more,
  };
  return withCase(outcome, told as Json, state, header);
}

/**
 * What a script failed with, for whoever started the run: the engine's text of such an error is for programmers and stays in `data`; a
 * person is told what is missing, and which read answered nothing. `steps`: of the run, oldest first.
 */
export function inWords(error: WireError, steps: readonly Step[]): WireError {
  const said = /^(?:Type|Range)Error: (.*)$|^(.* is NaN, which JSON does not have.*)$/s.exec(error.message)?.slice(1).find(Boolean);
  if (!["SCRIPT_ERROR", "SCRIPT_RESULT"].includes(error.code) || said === undefined) return error;
  const field = FIELD.exec(said)?.[1];
  const read = steps.findLast((step) => step.effect === "read" && NOTHING.test(step.result ?? "null"));
  const what =
    field === undefined ? "The script met a value it cannot work with" : `The script needs "${field}" of something that is not there`;
  const why = read === undefined ? "" : ` Nothing was found by ${read.name} ${read.params.slice(0, 300)}.`;
  // What was asked for comes last: it may be long, and a model sees only the beginning of a message.
  const next = "Correct the input or the record; where it may be missing, let the script look before it uses it (data_first, mcp_record).";
  return { ...error, message: `${what}. ${next}${why}`, data: { engine: said } };
}
