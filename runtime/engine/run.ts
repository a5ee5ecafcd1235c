/**
 * THE core: a run is a replayable history. The script is executed, and the child answers its calls from the history while steps remain. Every
 * later call comes here: allow, act, record, answer. A call that cannot be answered yet drops the script; it is executed again once it can.
 * Invariant: an answer is recorded before the script sees it, and an act outside has a durable intent before it happens.
 */
import type { World } from "./world.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { Change, DoorAnswer, DoorCall, JobEnd, Json, Outcome, Released, RunLog, Served, Step } from "../kernel/ports.ts";
import { End, type Primitive, type StepContext, Suspend, callPrimitive } from "../kernel/primitive.ts";
import { redact } from "../rules/privacy/scan.ts";
import { readOnlyMachine } from "../kernel/states.ts";
import { actOf, allowed, canonical, covers, applyStep, newRunState } from "./access.ts";
import { decidedChange, passGate, spoken, dryRunApproval } from "./approval.ts";
import {
  callOf,
  committedOrSuspended,
  isOurs,
  mayBeSlow,
  mayStillAct,
  retryLostCall,
  detachIfSlow,
  sentAway,
  settleDoubt,
  toText,
  unrecorded,
  withRetries,
} from "./attempt.ts";
import { toReleased } from "./store/cards.ts";
import {
  answerOf,
  approversOf,
  askFor,
  demandsOf,
  endedBy,
  inWords,
  mayStandIn,
  metaOf,
  resolveEscalation,
  settleWrites,
} from "./process.ts";
import { doubtIn, provenStep } from "./proven.ts";
import { divergence, sameCall } from "./replay.ts";
import { callableIn, jobOf, knownPrimitive } from "./script.ts";
import type { Execution } from "./store/worker.ts";

const SUSPEND: DoorAnswer = { kind: "suspend" };

/** Why the script was dropped before it ended. */
type Stop = Suspend | End | { diverged: ClearedError } | { late: Promise<DoorAnswer | Stop> } | "canceled";

export async function executeRun(log: RunLog, world: World): Promise<Execution> {
  const { run } = log;
  let stop: Stop | null = null;
  let underWay: Promise<unknown> = Promise.resolve();
  let now = Math.max(run.createdAt, log.steps.at(-1)?.at ?? 0);
  try {
    const script = await world.script(run);
    const view = await world.view(run, log, () => now);
    const callable = callableIn(world, script);
    const { header } = script;
    const { machine, uses, mutates } = header;
    const readOnly = run.given?.readOnly === true || mutates === false;
    const state = newRunState(uses, readOnly && machine !== null ? readOnlyMachine(machine) : machine, readOnly, run.input);
    const unreleased: Released[] = [];
    const proven = (step: Step) => provenStep(step, log, state, world, callable, header);

    // 1. The recorded steps restore the view of the workspace and the rights of the run.
    const answered = log.steps.filter((step) => step.state !== "intent");
    state.doubted = doubtIn(log);
    for (const step of answered) {
      view.restore(step);
      settleChanges(step, await knownPrimitive(callable, step.name), await proven(step));
    }

    // 2. The child serves the recorded prefix; calls past its end arrive in `answer`.
    const end = await world.sandbox.execute({
      ...jobOf(run, script, callable),
      history: answered satisfies readonly Served[],
      limits: await world.limits(run),
      // Where each call is in the source, for naming a divergence: of a trial from its recording, or at a call in doubt.
      places: run.mode !== "live" || answered.length < log.steps.length,
      call: answer,
      abort: log.abort,
    });

    // 3. The script has ended, or was dropped and waits for something. If its sandbox died, a call may still be under way: it finishes first.
    if (stop === null || !isLate(stop)) await underWay;
    return await conclude(end).catch((error) => {
      if (error instanceof End) return finishEarly(error);
      throw error;
    });

    async function answer(call: DoorCall): Promise<DoorAnswer> {
      const doubt = log.steps[call.seq] ?? unrecorded(call, run, world);
      if (log.abort.aborted) return stopScript("canceled");
      if (call.seq !== log.steps.length && doubt?.state !== "intent")
        throw new ClearedError("SANDBOX_CRASHED", `The sandbox asked for step ${call.seq}, but the history has ${log.steps.length}.`);
      if (doubt !== undefined && !sameCall(doubt, call)) return stopScript({ diverged: divergence(run, call.seq, doubt, call, call.at) });
      now = Math.max(now, world.clock.now());
      const acting = act(call, doubt);
      underWay = acting.catch(() => undefined);
      const first = mayBeSlow(await knownPrimitive(callable, call.name)) ? await detachIfSlow(acting) : await acting;
      if (first === "slow") return stopScript({ late: acting });
      return isAnswer(first) ? first : stopScript(first);
    }

    /** One call past the end of the history: allow, act, record. */
    async function act(call: DoorCall, doubt: Step | undefined): Promise<DoorAnswer | Stop> {
      const step: Step = {
        ...{ seq: call.seq, name: call.name, params: call.params, result: null, error: null, changes: [], at: now },
        effect: "control",
        state: "ok",
        attempts: doubt?.attempts ?? 0,
      };
      // Starts with the approval recorded when the call was begun, so that after a crash nobody is asked again.
      const decided: Change[] = doubt === undefined ? [] : [...(await proven(doubt)).changes];
      let known: Primitive | undefined;
      try {
        const primitive = await callable.primitive(call.name);
        known = primitive;
        const params = JSON.parse(call.params) as Json;
        step.effect = primitive.effect;
        const opened = call.seq === answered.length ? log.openedAt(call.seq) : null;
        const ctx = context(call.seq, doubt !== undefined || !log.here, decided, opened);
        const requested = await actOf(primitive, params, ctx, doubt && !log.ours ? { ...doubt, effect: primitive.effect } : doubt);
        const { tool } = (state.call = requested.call);
        const effect = (step.effect = requested.effect);
        if (doubt === undefined) await settleWrites(ctx, state, effect === "notify");
        const right = covers(decided, requested.call) ? "yes" : allowed(primitive, requested, state);
        const outside = (effect === "external" || effect === "notify") && run.mode === "live";
        if (outside && !log.here) world.mayAct(run);
        // A call in doubt is settled before its right is enforced: it may have happened, whatever is allowed now.
        const unsure = doubt ?? (log.here ? undefined : sentAway(step, run));
        const settled = outside && unsure !== undefined ? await settleDoubt(primitive, unsure, ctx, log, world) : null;
        if (settled === null && right instanceof ClearedError) throw right;
        if (settled === null && right === "ask") await askFor(requested.call, ctx, state);
        // A call in doubt with an idempotency key continues what it began, such as a child run: that is no new act.
        const isNew = settled === null && outside && effect === "external" && (doubt === undefined || primitive.idempotent === undefined);
        const server = primitive.plugin ?? tool.split("/")[0] ?? "";
        const changed = isNew ? await world.changedSince?.(log, call, server, decided) : null;
        const again = doubt === undefined ? "" : " again";
        if (changed != null)
          throw new End("blocked", `What the run read has changed since: ${changed}. ${tool} was not sent${again}; start the run again`);
        const attempt = () => {
          if (outside) world.mayAct(run, effect);
          if (outside) log.intent({ ...step, state: "intent", attempts: step.attempts + 1, changes: [...decided] });
          if (outside && primitive.idempotent !== "key") world.sent.keep(callOf(run, call));
          // No retries in a backtest: its recording would give the same answer each time.
          const repeatable = run.mode === "backtest" ? "control" : effect;
          return withRetries(repeatable, step, () => callPrimitive(primitive, params, ctx, effect));
        };
        const settleLost = (lost: ClearedError) => {
          ctx.inDoubt = true;
          const begun = { ...step, state: "intent" as const, error: toWire(lost), changes: [...decided], at: world.clock.now() };
          log.intent(begun);
          return settleDoubt(primitive, begun, ctx, log, mayStillAct(lost) ? world : { sent: world.sent });
        };
        const { value } = settled ?? (await retryLostCall(attempt, doubt !== undefined, outside ? settleLost : () => null));
        step.result = toText(primitive, value);
      } catch (error) {
        if (error instanceof Suspend || error instanceof End) return error;
        if (isOurs(error)) throw error;
        Object.assign(step, { state: "error", error: toWire(error) });
      }
      step.changes = [...view.takeChanges(), ...decided];
      if (step.effect === "external" || step.effect === "notify") log.settle(step);
      else log.record(step, known?.access === "model");
      if (!log.ours) state.doubted = doubtIn(log);
      settleChanges(step, known);
      return step.error === null ? { kind: "value", json: step.result ?? "null", now } : { kind: "error", error: step.error, now };
    }

    /** `opened`: when an earlier execution first opened this gate, so that "in 3 days" counts from then; null if none did. */
    function context(seq: number, inDoubt: boolean, decided: Change[], opened: number | null): StepContext {
      const at = opened ?? now;
      return {
        ports: view.ports,
        run: { id: run.id, agent: run.agent, mode: run.mode, process: header.process },
        key: `${run.id}/${seq}`,
        now: at,
        get today() {
          return view.today(at);
        },
        inDoubt,
        abort: log.abort,
        leaving: () => world.guard(),
        async gate(gate) {
          const demands = demandsOf(gate.card, state, run, header, world.people, at);
          const asking = { log, seq, now, authority: world.authority, standing: mayStandIn(gate.card, state, run) ? world.standing : null };
          const supposed = async () => spoken(gate.card, world.suppose?.(seq, gate) ?? dryRunApproval(now), await world.authority(run));
          const passed = run.mode === "live" ? await passGate(asking, gate, demands) : { decision: await supposed() };
          decided.push(...decidedChange(gate.card, passed));
          return passed.decision;
        },
        async commit(message) {
          const sha = await commit(message, seq);
          if (sha !== null) decided.push({ op: "committed", commit: sha });
          return sha;
        },
        process: state.process,
        writes: state.writes,
        // Null in `seen`: the record could not be read back, so its contents are not known.
        seen: (read) => state.seen.get(canonical(read)) ?? undefined,
        async escalate(why) {
          return state.process === null ? null : resolveEscalation(this, state, why);
        },
        changed: (change) => void decided.push(change),
      };
    }

    /** All recorded steps are durable before the commit. A commit by an earlier execution is found by its trailers and not repeated. */
    async function commit(message: string, seq: number): Promise<string | null> {
      if (!view.dirty()) return null;
      if (run.mode !== "live") return view.check().then(() => world.supposeCommit?.() ?? null);
      world.mayAct(run);
      log.flush();
      let sha = run.attempt > 1 ? await world.git.find(run.id, seq, run.pin.commit) : null;
      if (sha === null) {
        const trailers = { Run: run.id, Step: String(seq), Agent: `${run.agent}@${run.pin.blob.slice(0, 12)}`, ...approversOf(state) };
        sha = committedOrSuspended(await view.commit(redact(message), trailers, () => world.guard()));
      }
      if (sha !== null) {
        view.committed(sha);
        log.event("commit", { commit: sha, message });
      }
      return sha;
    }

    /** Counts a step; its cards and events are held until a commit, or the end of the run, releases them. `proved`: with only the rights that still hold. */
    function settleChanges(step: Step, primitive: Primitive | undefined, proved = step): void {
      applyStep(state, proved, primitive);
      step.changes.forEach((change, index) => {
        const item = toReleased(run, step.seq, index, change, state.doubted !== null);
        // An act outside has happened however the run ends, so what it released is not held.
        if (item !== null && step.effect === "external") log.release([item]);
        else if (item !== null) unreleased.push(item);
        if (change.op === "committed") log.release(unreleased.splice(0));
      });
    }

    async function conclude(ended: JobEnd): Promise<Execution> {
      if (stop instanceof End) return finishEarly(stop);
      if (stop !== null) return suspendRun(stop);
      if (ended.kind === "suspended" || log.abort.aborted) return suspendRun("canceled");
      if (ended.kind === "failed")
        return log.end({ status: "failed", error: inWords(ended.error, log.steps), ...metaOf(state, run, header, now, "failed") });
      if (ended.kind === "diverged")
        return log.end({ status: "diverged", error: toWire(divergence(run, ended.seq, ended.recorded, ended.actual, ended.at)) });
      const doubt = log.steps.at(-1);
      if (doubt?.state === "intent") return log.end({ status: "diverged", error: toWire(divergence(run, doubt.seq, doubt, null)) });
      const last = () => context(log.steps.length, false, [], log.openedAt(log.steps.length));
      const stopped = state.process?.current === "ESCALATE" ? await last().escalate() : null;
      if (stopped !== null) return finishEarly(stopped);
      const answer = answerOf(JSON.parse(ended.json) as Json, state, run, header);
      if (answer.outcome === "completed" && state.open.length > 0) await settleWrites(last(), state, true);
      await finish(answer.outcome, answer.result);
    }

    /** A decision or the policy ended the run before its script did. */
    function finishEarly(end: End): Promise<void> {
      return finish(end.outcome, endedBy(end, state, header), end);
    }

    /** Commits what the run wrote, whatever its outcome, then releases its cards and events and ends it. */
    async function finish(outcome: Outcome, result: Json, end: End | null = null): Promise<void> {
      await commit(`agent: ${run.agent}`, log.steps.length);
      log.release(unreleased.splice(0));
      if (run.mode === "live") await view.tidy().catch((error) => log.event("log", { level: "warn", message: toWire(error).message }));
      log.end({ status: "done", outcome, result, unanswered: end?.gate ?? null, ...metaOf(state, run, header, now, end) });
    }
  } catch (error) {
    if (error instanceof Suspend) return suspendRun(error);
    if (isOurs(error)) throw error;
    return log.end({ status: "failed", error: toWire(error) });
  }

  function stopScript(reason: Stop): DoorAnswer {
    stop ??= reason;
    return SUSPEND;
  }

  function suspendRun(reason: Stop): Execution {
    if (reason === "canceled") return log.flush();
    if (reason instanceof Suspend) return log.wait(reason.reason, reason.waitsFor, reason.options);
    // A slow call reached it: the next execution reaches the same end at once.
    if (reason instanceof End) return log.requeue();
    if ("diverged" in reason) return log.end({ status: "diverged", error: toWire(reason.diverged) });
    // The wait is recorded before the call can requeue the run: in the other order the wait would undo the requeue.
    log.wait("slow_call", "an answer from outside");
    return { later: reason.late.then((late) => (isAnswer(late) ? log.requeue() : void suspendRun(late))) };
  }
}

function isAnswer(value: DoorAnswer | Stop): value is DoorAnswer {
  return typeof value === "object" && "kind" in value;
}

function isLate(stop: Stop): boolean {
  return typeof stop === "object" && "late" in stop;
}
