/**
 * What the business process adds to a run: who must decide at a gate and what they are shown, whether the answer is complete, and the
 * metadata of the result. Called by run.ts; kernel/states.ts has the rules of the machine.
 */
import { approvalBrief } from "../rules/answers/documents.ts";
import { asksForList, rankedAnswer } from "../rules/answers/ranked.ts";
import { assertWhole, missingFields } from "../rules/answers/required.ts";
import { runMetadata, standing } from "../rules/answers/mutations.ts";
import { ClearedError, type WireError } from "../kernel/errors.ts";
import { clip, NOBODY } from "../kernel/text.ts";
import type { Call, CardDraft, Decision, Json, Outcome, RunRecord, Step } from "../kernel/ports.ts";
import { End, type Gate, type StepContext } from "../kernel/primitive.ts";
import type { Header } from "../scripts/header.ts";
import type { ProcessState } from "../kernel/states.ts";
import { amountsOf } from "../rules/tools/trace.ts";
import { takeBack } from "../rules/tools/undo.ts";
import { recordsIn } from "../rules/edits.ts";
import { canonical, type RunState } from "./access.ts";
import { findBrokenSum, findHole, findUntracedAmount, notJudged } from "./call-faults.ts";
import type { Demands } from "./approval.ts";
import { couldBeAnybodys, notAlone, serversOf, starterOf } from "./authority.ts";

/**
 * Who must decide a card, and the brief that goes with it. The policy's demands apply whatever the script asks for.
 * @throws AMOUNT_UNTRACED, AMOUNT_SUM, TEXT_INCOMPLETE when an amount has no source or does not add up, or a text lacks a value
 */
export function demandsOf(
  card: Gate["card"],
  state: RunState,
  run: RunRecord,
  header: Header,
  people: readonly string[],
  now: number,
): Partial<Demands> {
  const started_by = startedBy(run);
  if (card.kind === "form") return { started_by };
  // Sending it again needs what sending it needed: one approval covers one call.
  const level = state.call === null ? null : (state.levels.get(canonical(state.call)) ?? null);
  if (card.kind === "in_doubt") return { ...whoMay({ ...card, level }, state, run, people), started_by };
  // A rejection ends the process: nothing is asked for a second time.
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

/** Who or what started a run, in words. `from` of a cause: the run behind it, as recorded by app/starts.ts. */
export function startedBy({ by, cause: { kind, detail } }: Pick<RunRecord, "by" | "cause">): string {
  const { owner, webhook, from } = (detail ?? {}) as { owner?: string; webhook?: string; from?: { agent: string; asked: string } };
  // An owner in capitals is not the name of a token: it is a program of this user, or an anonymous caller.
  const whose = owner === undefined || /^[A-Z]/.test(owner) ? "" : ` of ${owner}`;
  const words: Record<RunRecord["cause"]["kind"], string> = {
    ...{ command: "a command", exec: "cleared exec", watch: "a file", webhook: `the webhook ${webhook ?? ""}`, agent: "another agent" },
    ...{ a2a: `a task${whose}`, mcp: `a chat client${whose}`, fork: "a fork of another run", migrate: "a move to other code" },
    ...{ schedule: "the schedule", event: "an event" },
  };
  if (from !== undefined) return `the agent ${from.agent}${kind === "agent" ? "" : `, by ${words[kind]}`}; asked by ${from.asked}`;
  if (by === undefined) return words[kind];
  if ((kind === "a2a" || kind === "mcp") && whose !== "") return `${words[kind]}, whose token ${by} made`;
  return kind === "command" ? by : `${by}, by ${words[kind]}`;
}

/** Who must decide, in the present state of the run. */
export function whoMay(
  card: Pick<Gate["card"], "kind" | "level" | "calls">,
  state: RunState,
  run: RunRecord,
  people: readonly string[],
): Pick<CardDraft, "level"> & Partial<Demands> {
  if (card.kind === "form") return { level: card.level };
  const said = state.process?.verdict ?? null;
  // What was judged may not be so: whoever any of the rules asks for decides.
  const verdict = said === null || state.doubted === null ? said : { ...said, ...state.most };
  // A changed row may name another starter, or none.
  const distinct = verdict?.distinct_from_requester === true;
  const by = state.doubted !== null || (distinct && couldBeAnybodys(run)) ? NOBODY : starterOf(run, people);
  const barred = by !== undefined && (people.length > 1 || distinct);
  const requesters = verdict?.requesters ?? [];
  const approvals = Math.max(verdict?.approvals ?? 1, requesters.includes(NOBODY) ? 2 : 1);
  const named = requesters.filter((one) => one !== NOBODY);
  const at = serversOf(named, state);
  const levels = [...new Set([...(verdict?.levels ?? []), ...(card.level === null ? [] : [card.level])])];
  return {
    level: verdict?.level ?? card.level,
    ...(levels.length === 0 ? {} : { levels }),
    ...(approvals > 1 ? { approvals } : {}),
    ...(barred ? notAlone(by, approvals) : {}),
    ...(named.length === 0 ? {} : { requesters: named, ...(at.length === 0 ? {} : { requested_at: at }) }),
    records: recordsIn(card.calls, [...state.seen.keys(), ...state.texts]),
  };
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
 * True when a profile of trust.yaml may answer this gate in place of a person: not where the policy escalates, blocks, was indeterminate or
 * demands two people or someone other than the requester, nor where a caller gave the run its own policy or tools.
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
  return card.kind === "approval" && plain && state.doubted === null && run.given?.policy === undefined && run.given?.tools === undefined;
}

/** Opens a gate for a call that no gate has covered. @throws Suspend, End when a person rejects it, APPROVAL_REQUIRED */
export async function askFor(call: Call, ctx: StepContext, state: RunState): Promise<void> {
  const not_judged = state.process?.verdict?.passed === true ? notJudged([call], state) : null;
  const about = { title: `Allow ${call.tool}?`, body: not_judged && { not_judged }, calls: [call] };
  // Fixed: the script has made its call and cannot take other parameters back.
  const card = { kind: "approval" as const, ...about, level: null, expires: null, fixed: true as const };
  const decision = await ctx.gate({ reason: "approval", card });
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

const askToLook = (ctx: StepContext, title: string, body: Json): Promise<Decision> =>
  ctx.gate({ reason: "escalation", card: { kind: "escalation", title, body, calls: [], level: null, expires: null } });

/** Asks a person about what the policy or the script could not settle. Returns the end of the run if they reject it. @throws Suspend */
export async function resolveEscalation(ctx: StepContext, { process, about }: RunState, why?: string): Promise<End | null> {
  const asks = why ?? process?.why ?? process?.verdict?.summary ?? `${ctx.run.agent} needs a person`;
  // The first value the policy was asked about identifies the case, so it begins the title.
  const [of] = Object.values(about);
  const title = typeof of === "string" && of !== "" && !asks.includes(of) ? `${clip(of, 80)}: ${asks}` : asks;
  const { decision, by, reason } = await askToLook(ctx, title, { about, verdict: (process?.verdict ?? null) as unknown as Json });
  return decision === "rejected" ? new End("rejected", `${by} said no: ${reason ?? "it was stopped after the escalation"}`, { by }) : null;
}

/**
 * A person must accept a write whose record differs from the request before the run makes another call. `all`: also one that could not be
 * looked up; demanded before the run notifies anybody, and at its end. @throws Suspend, End when they reject it
 */
export async function settleWrites(ctx: StepContext, { process, open, writes }: RunState, all: boolean): Promise<void> {
  const asked = process === null ? [] : open.filter((one) => all || one.status === "MISMATCH");
  const [first] = asked;
  if (first === undefined) return;
  const { stands, not_verified } = standing(writes);
  const what = first.status === "MISMATCH" ? "reported success, but its record differs" : "wrote, but its record could not be read";
  const undo = writes.flatMap((one) => (one.undo === undefined ? [] : [{ tool: one.tool, ...one.undo }]));
  const rest = undo.length === 0 ? "what was written stays" : "each undo is then asked for separately";
  const question = `Look at each record outside and correct what is wrong there. Approve to continue as it is; reject to end ${ctx.run.agent} here: ${rest}.`;
  const undoing = undo.length === 0 ? {} : { take_back: undo as unknown as Json };
  const body = {
    question,
    not_verified,
    stands,
    ...undoing,
    writes: asked.map(({ tool, params, diff, answer }) => ({ tool, params, diff, answer })),
  };
  const { decision, by, reason } = await askToLook(ctx, `${first.status}: ${first.tool} ${what}`, body);
  if (decision === "rejected") {
    const more = undo.length === 0 ? {} : { take_back: await takeBack(ctx, writes) };
    throw new End("rejected", `${by} said no: ${reason ?? not_verified.join("; ")}`, { by, more });
  }
  ctx.changed({ op: "accepted", by });
}

/**
 * The outcome of a script that reached its end, and its result in the form its header promises.
 * @throws OUTPUT_INCOMPLETE, FSM_GATE when the policy asked for a person and the script ended without one
 */
export function answerOf(result: Json, state: RunState, run: RunRecord, header: Header): { outcome: Outcome; result: Json } {
  const { process } = state;
  const verdict = process?.verdict ?? null;
  const { not_verified } = standing(state.writes);
  const takesMore = not_verified.length > 0 && typeof result === "object" && result !== null && !Array.isArray(result);
  const answer = takesMore ? { ...result, not_verified } : result;
  const no = state.rejected !== null ? "rejected" : process?.current === "FAILED" || verdict?.blocked === true ? "blocked" : null;
  if (no === null && verdict?.escalation_required === true && process?.escalated === false && process.current !== "ESCALATE")
    throw new ClearedError(
      "FSM_GATE",
      `${verdict.summary}: the policy escalates, and the script ended without asking. Call fsm_enter("ESCALATE").`,
    );
  const task = (run.input as { task?: Json } | null)?.task;
  if (no !== null) return { outcome: no, result: withCase(no, answer, state, header) };
  const list = header.answer === "ranked_list" || (typeof task === "string" && asksForList(task)) ? rankedAnswer(result) : null;
  if (list !== null) return { outcome: "completed", result: list };
  assertWhole(result, { process: header.process ?? null, output: header.output, sums: process !== null });
  return { outcome: "completed", result: answer };
}

/**
 * The metadata stored with the result; none for a run that has neither states nor answers of people nor writes outside. `end`: what ended
 * the run before its script did.
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
  const states = process === null ? {} : { states: [...process.before, process.current] };
  const calls = Object.values(state.calls).every((tools) => tools.length === 0) ? {} : { calls: state.calls };
  const more = { ...calls, ...(state.edited ? { edited: true } : {}), ...states, ...(strategy === null ? {} : { strategy }) };
  return { meta: { ...(meta as unknown as Record<string, Json>), ...more } };
}

const FIELD = /^Cannot (?:read|set) properties of (?:undefined|null) \((?:reading|setting) '(.*)'\)$/;
const NOTHING = /^(?:null|\[\]|\{\}|\{"found":false|\{"records":\[\])/;

/** The answer of a run that did not complete, with its case. `not_known` names the fields its process lacks, so that nobody takes it as complete. */
function withCase(outcome: Outcome, result: Json, { about }: RunState, header: Header): Json {
  const process = header.process ?? null;
  if (typeof result !== "object" || Array.isArray(result) || (result === null && process === null)) return result;
  const answer = { ...about, ...(process === null ? {} : { decision: outcome }), ...result };
  const not_known = missingFields(process, {}, answer, true).map((one) => one.split(" ")[0] ?? one);
  return not_known.length === 0 ? answer : { ...answer, not_known };
}

/** The answer of a run that the policy, a person or a deadline ended before its script: its case, who decided, why, and what was written. */
export function endedBy({ outcome, why, by: person, more }: End, state: RunState, header: Header): Json {
  const { process, writes } = state;
  const by = outcome === "rejected" ? (person ?? "a person") : outcome === "expired" ? "nobody" : "policy";
  const answer = {
    outcome,
    ...(process === null ? {} : { decision: outcome, by, summary: outcome === "rejected" ? why : `${outcome} by ${by}: ${why}` }),
    reason: why,
    ...(writes.length === 0 ? {} : standing(writes)),
    ...more,
  };
  return withCase(outcome, answer as Json, state, header);
}

/**
 * A script's failure in words for whoever started the run: the JavaScript engine's text is for programmers and stays in `data`; a person
 * reads what is missing, and which read found nothing. `steps`: of the run, oldest first.
 */
export function inWords(error: WireError, steps: readonly Step[]): WireError {
  const said = /^(?:Type|Range)Error: (.*)$|^(.* is NaN, which JSON does not have.*)$/s.exec(error.message)?.slice(1).find(Boolean);
  if (!["SCRIPT_ERROR", "SCRIPT_RESULT"].includes(error.code) || said === undefined) return error;
  const field = FIELD.exec(said)?.[1];
  const read = steps.findLast((step) => step.effect === "read" && NOTHING.test(step.result ?? "null"));
  const what =
    field === undefined ? "The script met a value it cannot work with" : `The script needs "${field}" of something that is not there`;
  const why = read === undefined ? "" : ` Nothing was found by ${read.name} ${read.params.slice(0, 300)}.`;
  // The call comes last: it may be long, and a model sees only the beginning of a message.
  const next = "Correct the input or the record; where it may be missing, let the script look before it uses it (data_first, mcp_record).";
  return { ...error, message: `${what}. ${next}${why}`, data: { engine: said } };
}
