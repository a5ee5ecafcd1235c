/**
 * Making one host call: how long it may take, how often it is tried, its answer as text, and whether a failure is the run's or this process's.
 * A call in doubt is settled by its key, then its read-back, then a person; never by a guess.
 */
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { CommitResult, DoorCall, Effect, Json, RunLog, RunRecord, Step } from "../kernel/ports.ts";
import { type Gate, type Primitive, parseParams, type StepContext, Suspend } from "../kernel/primitive.ts";
import { gateOf } from "./approval.ts";
import { LEASE_MS } from "./store/lease.ts";
import type { World } from "./world.ts";

// A host call that takes longer frees its slot, and the run is replayed once the call has returned (DESIGN.md 3.3).
const SLOW_MS = 250;
const READ_ATTEMPTS = 3;

const UNRECORDED = "This call was sent before, although the run's history does not have it: the run store is an older one, or was changed.";

/** A call of a run, as the record beside the store names it. */
export const callOf = ({ id }: Pick<RunRecord, "id">, { seq, name, params }: Pick<DoorCall, "seq" | "name" | "params">): string =>
  `call ${id}/${seq} ${name} ${params}`;

/** The doubt about a call that was sent, by the record beside the store, and is not in the run's history. */
export function unrecorded(call: DoorCall, run: RunRecord, { sent }: Pick<World, "sent">): Step | undefined {
  if (run.mode !== "live" || !sent.has(callOf(run, call))) return undefined;
  const { seq, name, params } = call;
  const error = { code: "HISTORY_GONE", message: UNRECORDED };
  return { seq, name, params, effect: "external", state: "intent", result: null, error, changes: [], at: run.createdAt, attempts: 1 };
}

const AWAY = "It may have been sent from where this folder came from: nothing proves that this user started the run in this folder.";

/** The doubt about a call of a run that was started elsewhere: what was sent there is not recorded here. */
export const sentAway = (step: Step, { createdAt }: RunRecord): Step => ({
  ...step,
  state: "intent",
  error: { code: "HISTORY_GONE", message: AWAY },
  at: createdAt,
  attempts: 1,
});

/** Calls that wait for the outside world may be slow. The host's own reads and writes always finish first: a replay would cost more. */
export function mayBeSlow(known: Primitive | undefined): boolean {
  const { effect, plugin = null, remote } = known ?? {};
  return effect === "external" || effect === "notify" || (effect === "read" && (plugin !== null || remote === true));
}

/** The outcome of the call, or "slow" when it takes longer than SLOW_MS. */
export async function detachIfSlow<T>(acting: Promise<T>): Promise<T | "slow"> {
  const { promise, resolve } = Promise.withResolvers<"slow">();
  const timer = setTimeout(resolve, SLOW_MS, "slow");
  return Promise.race([acting, promise]).finally(() => clearTimeout(timer));
}

/** Counts each attempt, because it may have acted. Only reads are retried; only the last outcome is recorded. */
export async function withRetries(effect: Effect, step: Step, attempt: () => Promise<Json>): Promise<Json> {
  for (;;) {
    step.attempts += 1;
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ClearedError) || effect !== "read" || step.attempts >= READ_ATTEMPTS) throw error;
      // The port already retries as often as makes sense, and each attempt costs money.
      if (error.code.startsWith("LLM_")) throw error;
      const again = error.code.startsWith("TOOL_")
        ? (await import("../rules/tools/recover.ts")).mayRepeat(error)
        : error.kind === "external";
      if (!again) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** step.attempts));
    }
  }
}

/**
 * The value of a call. A call whose answer was lost is settled like one that a crash interrupted, and repeated where that is harmless.
 * After that only TOOL_FAILED, the tool's own answer, is final: a server that is down now says nothing about what was sent before.
 * @param unclear true when an earlier attempt may have happened
 */
export async function retryLostCall(
  attempt: () => Promise<Json>,
  unclear: boolean,
  settle: (lost: ClearedError) => Promise<{ value: Json } | null> | null,
): Promise<{ value: Json }> {
  for (let open = unclear; ; ) {
    try {
      return { value: await attempt() };
    } catch (error) {
      if (!(error instanceof ClearedError)) throw error;
      const { code } = error;
      open ||= code === "TOOL_LOST";
      const settling = open && code.startsWith("TOOL_") && code !== "TOOL_FAILED" ? settle(error) : null;
      if (settling === null) throw error;
      const settled = await settling;
      if (settled !== null) return settled;
    }
  }
}

/** Whether a call without an answer may still be under way: our wait has ended, not the work of a server that lives on. */
export const mayStillAct = ({ code, data }: ClearedError): boolean => code === "TOOL_LOST" && data?.["ended"] !== true;

/** After this many attempts without an answer a person is asked, even where one more would be harmless. A hand-over between processes is one. */
const LOST_ATTEMPTS = 5;

/**
 * Settles a call that was started and has no outcome: returns its outcome, or null to make it (again). Without a read-back a person must look.
 * "Has not happened" is believed only while nobody has answered the question, and once nobody can be executing it: not before the lease time and
 * that of the tool have passed, not while an earlier owner is alive, and never where a server that lives on has not answered: a broken connection
 * says nothing about it.
 * @param settling without a clock: this process began the call, and whoever carried it out has ended
 * @throws Suspend while a person has to look, or the call may still happen
 */
export async function settleDoubt(
  primitive: Primitive,
  step: Step,
  ctx: StepContext,
  log: Pick<RunLog, "signals">,
  settling: Pick<World, "sent"> & Partial<Pick<World, "clock" | "predecessor">>,
): Promise<{ value: Json } | null> {
  // It may have got its key only after the call was sent.
  const isKeyed = primitive.idempotent === "key" && !settling.sent.has(callOf(ctx.run, step));
  if (isKeyed || primitive.idempotent === "asks") return null;
  const params = parseParams(primitive, JSON.parse(step.params) as Json);
  const seen = await (async () => primitive.readBack?.(params, ctx))().catch(() => null);
  if (seen?.happened === true) return { value: seen.result as Json };
  const question: Gate = {
    reason: "in_doubt",
    card: {
      kind: "in_doubt",
      title: `Did ${primitive.name} happen?`,
      body: {
        question: `${step.error === null ? "The computer stopped while this call was under way." : "Nobody knows whether this call happened."} Look outside: approve if it happened, reject if it did not (then it is made now). A suspended Cleared process on this machine may have begun it: resume or end that process before you reject.`,
        ...(step.error === null ? {} : { said: step.error.message }),
        key: ctx.key,
        attempt: step.attempts,
      },
      calls: [{ tool: primitive.name, params: JSON.parse(step.params) as Json }],
      level: null,
      expires: null,
    },
  };
  const isAnswered = log.signals(gateOf(step.seq, question.card)).length > 0;
  const other = settling.predecessor?.(step.at) ?? null;
  const now = settling.clock?.now() ?? Number.POSITIVE_INFINITY;
  if (seen?.happened === false && step.attempts < LOST_ATTEMPTS && !isAnswered) {
    if (seen.harmless === true) return null;
    const grace = step.at + Math.max(LEASE_MS, seen.withinMs ?? 0);
    if (now < grace) throw new Suspend("timer", `the time in which ${primitive.name} may still happen`, { until: grace });
    // Whoever answered with a failure is at it no more.
    const { code, data } = step.error ?? {};
    if (other === null && (code !== "TOOL_LOST" || data?.["ended"] === true || data?.["why"] === "TOOL_FAILED")) return null;
  }
  try {
    const decision = await ctx.gate(question);
    if (decision.decision === "rejected") return null;
    return { value: decision.result ?? ((await primitive.dryRun?.(params, ctx)) as Json) };
  } catch (error) {
    // It may settle without a person once that process continues or ends: checked again at growing intervals.
    if (error instanceof Suspend && other !== null) error.options.until = now + Math.max(LEASE_MS, now - step.at) / 2;
    throw error;
  }
}

/** A result as it is recorded. A value that JSON cannot express is refused, because the step would have no result. */
export function toText(primitive: Primitive, value: Json | undefined): string {
  try {
    const text: string | undefined = JSON.stringify(value ?? null);
    if (text !== undefined) return text;
  } catch {
    // A cycle, a BigInt, a toJSON that throws: all end in the error below.
  }
  throw new ClearedError(primitive.plugin === null ? "INTERNAL" : "PLUGIN_FAILED", `${primitive.name} returned a value that is not JSON.`);
}

const OURS = ["OWNER_FENCED", "OWNER_BUSY", "TRUST_CHANGED", "STORE_FULL", "STORE_CORRUPT"];

/** True for a failure of this process, not of the run: the run stays as recorded and continues elsewhere or later. */
export function isOurs(error: unknown): boolean {
  return OURS.includes(toWire(error).code);
}

/** The commit, or null when nothing changed; the run waits while a person's edit is in the way. @throws Suspend */
export function committedOrSuspended(result: CommitResult): string | null {
  if (result.status === "committed") return result.commit;
  if (result.status === "unchanged") return null;
  throw new Suspend("user_edit", result.status === "user_edit" ? result.paths.join(", ") : result.reason);
}

/** The same for a person who waits: an edit in the way is an error that names it. `again`: what to do once it is gone. @throws GIT_STATE */
export function committedOrRefused(result: CommitResult, again: string): string | null {
  if (result.status === "user_edit") {
    const edited = `${result.paths.join(", ")} has uncommitted edits of yours, and this changes it`;
    throw new ClearedError("GIT_STATE", `${edited}. Commit or undo them, then ${again}.`);
  }
  if (result.status === "blocked") throw new ClearedError("GIT_STATE", result.reason);
  return result.status === "committed" ? result.commit : null;
}
