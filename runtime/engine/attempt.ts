/** Making one host call: how long it may take, how often it is tried, its answer as text, and whether a failure is the run's or this process's. */
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { CommitResult, DoorCall, Effect, Json, RunRecord, Step } from "../kernel/ports.ts";
import { type Primitive, Suspend } from "../kernel/primitive.ts";
import type { World } from "./world.ts";

// A host call that takes longer frees its slot, and the run is replayed once the call has returned (DESIGN.md 3.3).
const SLOW_MS = 250;
const READ_ATTEMPTS = 3;

const UNRECORDED = "This call was sent before, although the run's history does not have it: the run store is an older one, or was changed.";

/** A call of a run, as the record beside the store names it. */
export const callOf = ({ id }: RunRecord, { seq, name, params }: DoorCall): string => `call ${id}/${seq} ${name} ${params}`;

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
