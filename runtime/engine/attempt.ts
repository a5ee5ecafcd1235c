/** Making one host call: how long it may take, how often it is tried, what its answer is as text, and whose failure a failure is. */
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { CommitResult, Effect, Json, Step } from "../kernel/ports.ts";
import { type Primitive, Suspend } from "../kernel/primitive.ts";

// A host call that takes longer frees its slot and the run is replayed when it has answered (DESIGN.md 3.3).
const SLOW_MS = 250;
const READ_ATTEMPTS = 3;

/** What waits for the world outside may be slow. The host's own reading and writing is let finish: a replay would cost more. */
export function mayBeSlow(known: Primitive | undefined): boolean {
  const { effect, plugin = null, remote } = known ?? {};
  return effect === "external" || effect === "notify" || (effect === "read" && (plugin !== null || remote === true));
}

/** What comes of the call, or "slow" when that takes too long to wait for. */
export async function detachIfSlow<T>(acting: Promise<T>): Promise<T | "slow"> {
  const { promise, resolve } = Promise.withResolvers<"slow">();
  const timer = setTimeout(resolve, SLOW_MS, "slow");
  return Promise.race([acting, promise]).finally(() => clearTimeout(timer));
}

/** Counts what may have acted. Reads may be tried again: only the last outcome is recorded. */
export async function withRetries(effect: Effect, step: Step, attempt: () => Promise<Json>): Promise<Json> {
  for (;;) {
    step.attempts += 1;
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ClearedError) || effect !== "read" || step.attempts >= READ_ATTEMPTS) throw error;
      // The port has asked as often as makes sense, and each time cost.
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
 * The value of a call. One whose answer was lost on the way is settled like one that a crash cut off, and made again where that is
 * harmless. From then on only the tool's own word is an answer: that its server is down now says nothing about what was sent before.
 * @param unclear an earlier attempt may have happened
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

/** An answer as it is recorded; one that JSON does not have would leave the step without a result. */
export function toText(primitive: Primitive, value: Json | undefined): string {
  try {
    const text: string | undefined = JSON.stringify(value ?? null);
    if (text !== undefined) return text;
  } catch {
    // A cycle, a BigInt, a toJSON that throws: the same to whoever called.
  }
  throw new ClearedError(
    primitive.plugin === null ? "INTERNAL" : "PLUGIN_FAILED",
    `${primitive.name} answered something that is not JSON.`,
  );
}

const OURS = ["OWNER_FENCED", "OWNER_BUSY", "TRUST_CHANGED", "STORE_FULL", "STORE_CORRUPT"];

/** Failures of this process, not of the run: the run stays as recorded and goes on elsewhere or later. */
export function isOurs(error: unknown): boolean {
  return OURS.includes(toWire(error).code);
}

/** What came of a commit; a person's edit in the way is waited for. @throws Suspend */
export function committedOrSuspended(result: CommitResult): string | null {
  if (result.status === "committed") return result.commit;
  if (result.status === "unchanged") return null;
  throw new Suspend("user_edit", result.status === "user_edit" ? result.paths.join(", ") : result.reason);
}

/** The same where a person waits for it: what is in the way is told, with what to do once it is gone (`again`). @throws GIT_STATE */
export function committedOrRefused(result: CommitResult, again: string): string | null {
  if (result.status === "user_edit") {
    const edited = `${result.paths.join(", ")} has uncommitted edits of yours, and this changes it`;
    throw new ClearedError("GIT_STATE", `${edited}. Commit or undo them, then ${again}.`);
  }
  if (result.status === "blocked") throw new ClearedError("GIT_STATE", result.reason);
  return result.status === "committed" ? result.commit : null;
}
