/**
 * THE core: a run is a replayable history. Execute the script; as long as the history lasts the child answers each call from it,
 * past its end every call comes here: ask whether it is allowed, act, record, answer. When nothing can be answered yet, the
 * script is dropped, not told, and the same execution starts again once the answer is recorded.
 * Invariant: an answer is recorded before the script sees it, and an act outside has a durable intent before it happens.
 */
import { ClearedError, toWire } from "../errors.ts";
import type {
  Change,
  Clock,
  CommitResult,
  Decision,
  DoorAnswer,
  DoorCall,
  Git,
  JobEnd,
  Json,
  Limits,
  Released,
  RunLog,
  RunRecord,
  Sandbox,
  Served,
  Step,
  WorkspaceView,
} from "../ports.ts";
import { type Primitive, type StepContext, Suspend, callPrimitive, parseParams } from "../primitive.ts";
import { allowed, fold, newRunState } from "./access.ts";
import { Expired, passGate, settleDoubt } from "./approval.ts";
import { isOurs, orSlow, toText, withRetries } from "./attempt.ts";
import { toReleased } from "./cards.ts";
import { divergence, sameCall } from "./divergence.ts";
import type { Script } from "./script.ts";
import type { Execution } from "./worker.ts";

/** What an execution needs of the world around it; built by the composition root. */
export interface World {
  clock: Clock;
  sandbox: Sandbox;
  git: Git;
  primitive(name: string): Primitive;
  /** Primitive name -> the parameter it takes bare. */
  globals: Record<string, string | null>;
  script(run: RunRecord): Promise<Script>;
  view(run: RunRecord, log: RunLog, now: () => number): Promise<WorkspaceView>;
  limits(run: RunRecord): Promise<Limits>;
  /** @throws OWNER_FENCED */
  guard(): void;
}

const SUSPEND: DoorAnswer = { kind: "suspend" };

/** Why the script was dropped before its end. */
type Stop = Suspend | Expired | { diverged: ClearedError } | { late: Promise<DoorAnswer | Stop> } | "canceled";

export async function executeRun(log: RunLog, world: World): Promise<Execution> {
  const { run } = log;
  let stop: Stop | null = null;
  let underWay: Promise<unknown> = Promise.resolve();
  let now = Math.max(run.createdAt, log.steps.at(-1)?.at ?? 0);
  try {
    const script = await world.script(run);
    const view = await world.view(run, log, () => now);
    const state = newRunState(script.header.uses);
    const unreleased: Released[] = [];

    // 1. What is recorded shapes the view and the rights of the run again.
    const answered = log.steps.filter((step) => step.state !== "intent");
    for (const step of answered) {
      view.restore(step);
      settleChanges(step);
    }

    // 2. The child serves the recorded prefix; calls past its end arrive in `answer`.
    const end = await world.sandbox.execute({
      main: script.main,
      scripts: script.scripts,
      primitives: world.globals,
      input: JSON.stringify(run.input),
      seed: run.id,
      startedAt: run.createdAt,
      history: answered satisfies readonly Served[],
      limits: await world.limits(run),
      call: answer,
      abort: log.abort,
    });

    // 3. The script has ended, or was dropped and waits for something. A sandbox that died leaves its call under way: it is let finish.
    if (stop === null || !isLate(stop)) await underWay;
    return await conclude(end);

    async function answer(call: DoorCall): Promise<DoorAnswer> {
      const doubt = log.steps[call.seq];
      if (log.abort.aborted) return park("canceled");
      if (call.seq !== log.steps.length && doubt?.state !== "intent")
        throw new ClearedError("SANDBOX_CRASHED", `The sandbox asked for step ${call.seq}, but the history stands at ${log.steps.length}.`);
      if (doubt !== undefined && !sameCall(doubt, call)) return park({ diverged: divergence(run, call.seq, doubt, call, call.at) });
      now = Math.max(now, world.clock.now());
      const acting = act(call, doubt);
      underWay = acting.catch(() => undefined);
      const first = mayBeSlow(call.name) ? await orSlow(acting) : await acting;
      if (first === "slow") return park({ late: acting });
      return isAnswer(first) ? first : park(first);
    }

    /** What waits for the world outside may be slow. The host's own reading and writing is let finish: a replay would cost more. */
    function mayBeSlow(name: string): boolean {
      const known = knownPrimitive(world, name);
      return known?.effect === "external" || known?.effect === "notify" || (known?.effect === "read" && known.plugin !== null);
    }

    /** One call past the end of the history: allow, act, record. */
    async function act(call: DoorCall, doubt: Step | undefined): Promise<DoorAnswer | Stop> {
      const step: Step = {
        seq: call.seq,
        name: call.name,
        effect: "control",
        params: call.params,
        state: "ok",
        result: null,
        error: null,
        changes: [],
        at: now,
        attempts: doubt?.attempts ?? 0,
      };
      const decided: Change[] = [];
      try {
        const primitive = world.primitive(call.name);
        const params = JSON.parse(call.params) as Json;
        step.effect = primitive.effect;
        const refusal = doubt === undefined ? allowed(primitive, params, state) : null;
        if (refusal !== null) throw refusal;
        const ctx = context(call.seq, doubt !== undefined, decided, call.seq === answered.length ? log.openedAt(call.seq) : null);
        const outside = (primitive.effect === "external" || primitive.effect === "notify") && run.mode === "live";
        if (outside) parseParams(primitive, params);
        const settled = outside && doubt !== undefined ? await settleDoubt(primitive, doubt, log, ctx) : null;
        if (outside && settled === null) log.intent({ ...step, state: "intent", attempts: step.attempts + 1 });
        const value = settled === null ? await withRetries(primitive, step, () => callPrimitive(primitive, params, ctx)) : settled.value;
        step.result = toText(primitive, value);
      } catch (error) {
        if (error instanceof Suspend || error instanceof Expired) return error;
        if (isOurs(error)) throw error;
        Object.assign(step, { state: "error", error: toWire(error) });
      }
      step.changes = [...view.takeChanges(), ...decided];
      if (step.effect === "external" || step.effect === "notify") log.settle(step);
      else log.record(step);
      settleChanges(step);
      return step.error === null ? { kind: "value", json: step.result ?? "null", now } : { kind: "error", error: step.error, now };
    }

    /** `opened`: when an earlier execution stopped at this gate, so that "in 3 days" counts from the first asking. */
    function context(seq: number, inDoubt: boolean, decided: Change[], opened: number | null): StepContext {
      return {
        ports: view.ports,
        run: { id: run.id, agent: run.agent, mode: run.mode },
        key: `${run.id}/${seq}`,
        now: opened ?? now,
        today: view.today(opened ?? now),
        inDoubt,
        abort: log.abort,
        async gate(gate) {
          const decision: Decision =
            run.mode === "live" ? passGate(log, seq, now, gate) : { card: 0, decision: "approved", by: "dry run", at: now };
          decided.push({
            op: "decided",
            decision: decision.decision,
            by: decision.by,
            calls: decision.decision === "rejected" ? [] : (decision.calls ?? gate.card.calls),
          });
          return decision;
        },
        async commit(message) {
          const sha = await commit(message, seq);
          if (sha !== null) decided.push({ op: "committed", commit: sha });
          return sha;
        },
        process: null,
        changed: (change) => void decided.push(change),
      };
    }

    /** Everything recorded is durable first; a commit that an earlier execution made is found by its trailers, not made again. */
    async function commit(message: string, seq: number): Promise<string | null> {
      if (!view.dirty()) return null;
      if (run.mode !== "live") return view.check().then(() => null);
      log.flush();
      let sha = run.attempt > 1 ? await world.git.find(run.id, seq, run.pin.commit) : null;
      if (sha === null) {
        const approvers = state.approvedBy.length === 0 ? {} : { "Approved-by": state.approvedBy.join(", ") };
        const result = await view.commit(
          message,
          { Run: run.id, Step: String(seq), Agent: `${run.agent}@${run.pin.blob.slice(0, 12)}`, ...approvers },
          () => world.guard(),
        );
        sha = committedOrSuspended(result);
      }
      if (sha !== null) {
        view.committed(sha);
        log.event("commit", { commit: sha, message });
      }
      return sha;
    }

    /** Cards and events of a step are held back until a commit (or the end) lets them out, in the same transaction. */
    function settleChanges(step: Step): void {
      fold(state, step, knownPrimitive(world, step.name));
      step.changes.forEach((change, index) => {
        const item = toReleased(run, step.seq, index, change);
        if (item !== null) unreleased.push(item);
        if (change.op === "committed") log.release(unreleased.splice(0));
      });
    }

    async function conclude(ended: JobEnd): Promise<Execution> {
      if (stop !== null) return rest(stop);
      if (ended.kind === "suspended" || log.abort.aborted) return rest("canceled");
      if (ended.kind === "failed") return log.end({ status: "failed", error: ended.error });
      if (ended.kind === "diverged")
        return log.end({ status: "diverged", error: toWire(divergence(run, ended.seq, ended.recorded, ended.actual, ended.at)) });
      const doubt = log.steps.at(-1);
      if (doubt?.state === "intent") return log.end({ status: "diverged", error: toWire(divergence(run, doubt.seq, doubt, null)) });
      await commit(`agent: ${run.agent}`, log.steps.length);
      log.release(unreleased.splice(0));
      if (run.mode === "live") await view.tidy().catch((error) => log.event("log", { level: "warn", message: toWire(error).message }));
      log.end({ status: "done", outcome: state.rejected ? "rejected" : "completed", result: JSON.parse(ended.json) as Json });
    }
  } catch (error) {
    if (error instanceof Suspend) return rest(error);
    if (isOurs(error)) throw error;
    return log.end({ status: "failed", error: toWire(error) });
  }

  function park(reason: Stop): DoorAnswer {
    stop ??= reason;
    return SUSPEND;
  }

  function rest(reason: Stop): Execution {
    if (reason === "canceled") return log.flush();
    if (reason instanceof Suspend) return log.wait(reason.reason, reason.waitsFor, reason.options);
    if (reason instanceof Expired) return log.end({ status: "done", outcome: "expired", result: null });
    if ("diverged" in reason) return log.end({ status: "diverged", error: toWire(reason.diverged) });
    // First the wait, then whatever comes of the call: the other way round the answer would be slept through.
    log.wait("slow_call", "an answer from outside");
    return { later: reason.late.then((late) => (isAnswer(late) ? log.requeue() : void rest(late))) };
  }
}

function isAnswer(value: DoorAnswer | Stop): value is DoorAnswer {
  return typeof value === "object" && "kind" in value;
}

function isLate(stop: Stop): boolean {
  return typeof stop === "object" && "late" in stop;
}

function committedOrSuspended(result: CommitResult): string | null {
  if (result.status === "committed") return result.commit;
  if (result.status === "unchanged") return null;
  throw new Suspend("user_edit", result.status === "user_edit" ? result.paths.join(", ") : result.reason);
}

function knownPrimitive(world: World, name: string): Primitive | undefined {
  return Object.hasOwn(world.globals, name) ? world.primitive(name) : undefined;
}
