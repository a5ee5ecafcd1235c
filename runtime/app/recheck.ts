/**
 * Before a run acts outside, its data may be out of date: a person took days to decide, the run waited, or another run has acted since. What it
 * has read since its last act is then read again, by its read-only children too, as is what the workspace answered if others have committed
 * since. If an answer differs, the run is tried on the new answers up to this act. Runs that act at one server take turns until they rest, so
 * that each judges what the previous one left.
 * Not covered: reads before an act of its own; other workspaces and programs between this check and the act.
 */
import { canonicalJson } from "../kernel/canonical.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { Change, Clock, Decision, DoorCall, Json, RunLog, RunRecord, Step, Verdict, VerifiedWrite } from "../kernel/ports.ts";
import { type Primitive, callPrimitive } from "../kernel/primitive.ts";
import { clip, namedUpTo } from "../kernel/text.ts";
import { inSlots } from "../kernel/turns.ts";
import type { ReadNow } from "../change/evidence/recorded.ts";
import type { Trial } from "../change/evidence/types.ts";
import { actOf } from "../engine/access.ts";
import { toText, withRetries } from "../engine/attempt.ts";
import { detachedLog, quietContext, sameCall } from "../engine/replay.ts";
import { callableIn } from "../engine/script.ts";
import { entriesOf } from "../workspace/books/journal-text.ts";
import type { Host } from "./host.ts";

/** Time limit of a server without one in trust.yaml. Others wait at most three times as long: for a read, the act and its verification. */
const ANSWER_MS = 10_000;
/** Anything read longer ago is read again, whatever the run has waited for. */
const OLD_MS = 60_000;
const READS_AT_ONCE = 4;
/** Number of reads and calls named when a run is blocked. */
const SHOWN = 3;
/** Only a date or time, as JSON, in answer to a call without parameters. */
const DAY = /^(?:\{"(?:today|now|day|date|time|as_of|business_date)":)?"\d{4}-\d\d-\d\d[\dT:.Z+-]*"\}?$/;

type Recorded = Pick<RunLog, "run" | "steps">;

interface Turn {
  run: string;
  until: number;
  over: PromiseWithResolvers<void>;
}

export function createRechecks(clock: Clock, whole: () => Host) {
  const turns = new Map<string, Turn>();
  const acting = new Set<string>();
  /** The result of a slow check: the run is executed once more and ends with it. */
  const refused = new Map<string, { seq: number; why: string }>();
  /** When a run of this process last acted; unknown for the time before it started. */
  let acted = clock.now();

  const turnEnds = (server: string) => performance.now() + 3 * (whole().trust.mcp[server]?.timeout_ms ?? ANSWER_MS);
  const takeTurn = async (server: string, { run, abort }: RunLog): Promise<void> => {
    let turn = turns.get(server);
    for (; turn !== undefined && turn.run !== run.id && !abort.aborted; turn = turns.get(server)) {
      const left = turn.until - performance.now();
      if (left <= 0) break;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, left);
      await Promise.race([turn.over.promise, promise]).finally(() => clearTimeout(timer));
    }
    if (abort.aborted) return;
    const until = turnEnds(server);
    // A waiting run keeps waiting for the same turn.
    if (turn?.run === run.id) turn.until = until;
    else turns.set(server, { run: run.id, until, over: Promise.withResolvers() });
  };

  return {
    /**
     * Why the run would no longer come to this act, in words; null if it would. `server`: whose turn it takes, until it rests.
     * `decided`: decisions just made about this act.
     */
    async changedSince(log: RunLog, act: DoorCall, server: string, decided: readonly Change[]): Promise<string | null> {
      const { id } = log.run;
      const known = refused.get(id);
      if (known?.seq === act.seq) return known.why;
      await takeTurn(server, log);
      const last = acted;
      acted = clock.now();
      acting.add(id);
      // An act interrupted by a crash has not been made yet.
      const before = log.steps.slice(0, act.seq);
      const since = before.findLastIndex(hasActed) + 1;
      const steps = before.slice(since);
      const read = steps.find(({ effect }) => effect === "read");
      if (read === undefined) return null;
      const changes = [...decided, ...steps.flatMap((one) => one.changes)];
      const isAnswered = changes.some((one) => one.op === "answered" || (one.op === "decided" && (one.given?.signed.length ?? 0) > 0));
      // A read dated in the future may have been made at any time, or never.
      const isOld = clock.now() - read.at > OLD_MS || read.at > clock.now();
      const isOutdated = isAnswered || isOld || last >= read.at;
      const why = await triedAgain({ run: log.run, steps: before }, since, act, isOutdated, whole());
      if (why !== null) refused.set(id, { seq: act.seq, why });
      const turn = turns.get(server);
      if (turn?.run === id) turn.until = turnEnds(server);
      return why;
    },
    /** The run has ended or waits: the next one's turn. */
    rested({ id }: Pick<RunRecord, "id">): void {
      refused.delete(id);
      // Also if the others have stopped waiting for it.
      if (acting.delete(id)) acted = clock.now();
      for (const [server, { run, over }] of turns) {
        if (run !== id) continue;
        turns.delete(server);
        over.resolve();
      }
    },
  };
}

/** `since`: the step after its last act; it may have changed earlier reads itself. `isOutdated`: the outside world may have changed. */
async function triedAgain(log: Recorded, since: number, act: DoorCall, isOutdated: boolean, host: Host): Promise<string | null> {
  const fresh = await freshIn(log, since, isOutdated, host);
  if (fresh.size === 0) return null;
  const trial = await triedOn(log, fresh, host);
  const [was, now] = [log.steps.slice(since), trial.steps.slice(since)];
  const why = demanded(verdictsIn(was), verdictsIn(now)) ?? otherwise(questionsIn(was), now, trial.missing, act);
  // Whoever starts it again, with all or part of its input, looks there first.
  const reads = [...fresh.values()].sort((a, b) => a.seq - b.seq).map(({ name, params }) => `${name}(${clip(params, 120)})`);
  return why && `${why} (different answers now: ${namedUpTo(reads, SHOWN)})`;
}

/** The run as it would have gone with these answers. `decision`: and would go on with it at the gate it waits at. */
export async function triedOn({ run, steps }: Recorded, fresh: ReadonlyMap<number, Step>, host: Host, decision?: Decision): Promise<Trial> {
  const { tryRun } = await import("../change/evidence/trial.ts");
  const code = { tree: host.git.tree(run.pin.commit), changed: [] };
  const recording = { run, steps: steps.map((step) => fresh.get(step.seq) ?? step), holds: Math.min(...fresh.keys()) };
  const bench = { ...host, read: readFor(run, host), scriptIn: () => host.world.script(run) };
  return tryRun(recording, code, decision === undefined ? bench : { ...bench, decision });
}

function readFor(run: RunRecord, host: Host): ReadNow {
  return async (primitive, params, step) => {
    const ctx = quietContext(run, step, await host.world.view(run, detachedLog(run), () => step.at));
    // Its class may have changed since it was read.
    const { effect } = await actOf(primitive, params, ctx, undefined);
    if (effect !== "read") throw new ClearedError("FSM_READ_ONLY", `${primitive.name} may change something now, and is not read again.`);
    return callPrimitive(primitive, params, ctx, "read");
  };
}

/** By number, the reads from `since` on whose answer differs now, with that answer. `asked`: the last question to a person. */
async function freshIn(
  { run, steps }: Recorded,
  since: number,
  isOutdated: boolean,
  host: Host,
  asked = steps.findLastIndex(isDecided),
): Promise<Map<number, Step>> {
  const callable = callableIn(host.world, await host.world.script(run));
  const fresh = new Map<number, Step>();
  const again = async (step: Step, call: (params: Json, primitive: Primitive) => Promise<Json>): Promise<void> => {
    const primitive = await callable.primitive(step.name);
    const params = JSON.parse(step.params) as Json;
    const answer = await withRetries("read", { ...step, attempts: 0 }, () => call(params, primitive)).then(
      (value) => ({ state: "ok" as const, result: toText(primitive, value), error: null }),
      async (error: unknown) => {
        if (!(error instanceof ClearedError)) throw error;
        const { mayRepeat } = await import("../rules/tools/recover.ts");
        // A server that does not answer has not reported a change: the act will fail at that server as well.
        if (step.error === null && mayRepeat(error)) throw error;
        return { state: "error" as const, result: null, error: toWire(error) };
      },
    );
    const isSame = unordered(answer.result) === unordered(step.result) && answer.error?.code === step.error?.code;
    // That time passes while a person thinks is no change: the script looks at the day again after that, if it matters.
    const { tool: _, params: inner = {}, ...own } = (params ?? {}) as { tool?: Json; params?: Json };
    const isDay = canonicalJson([inner, own]) === "[{},{}]" && DAY.test(answer.result ?? "") && DAY.test(step.result ?? "");
    if (!isSame && !(isDay && step.seq < asked)) fresh.set(step.seq, { ...step, ...answer });
  };
  const read = readFor(run, host);
  await inSlots(steps.slice(since), READS_AT_ONCE, async (step) => {
    if (step.effect !== "read" || !isOutdated) return;
    const primitive = await callable.primitive(step.name);
    if (isOutside(primitive)) return again(step, (params) => read(primitive, params, step));
    const child = await childOf(run, step, host);
    if (child !== null) await again(step, () => resultNow(child, step, host, step.seq < asked));
  });
  // The run's own commits are results of its reads, not changes by others.
  const own = steps.flatMap(({ changes }) => changes.flatMap((one) => (one.op === "committed" ? [one.commit] : []))).at(-1);
  if ((await host.git.head()) === (own ?? run.pin.commit)) return fresh;
  const view = await host.world.view(run, detachedLog(run), () => host.clock.now());
  const withoutFrom = (seq: number) => {
    const entries = steps.slice(seq).flatMap(({ changes }) => changes.flatMap((one) => (one.op === "entries" ? entriesOf(one) : [])));
    view.restore({ ...(steps[0] as Step), changes: entries.map(({ id }) => ({ op: "remove", id })) });
  };
  // What it has booked and committed itself did not exist before.
  withoutFrom(0);
  for (const step of steps) {
    const isRead = step.seq >= since && step.effect === "read";
    const primitive = isRead ? await callable.primitive(step.name) : null;
    if (primitive?.from === "tree") await again(step, (params) => callPrimitive(primitive, params, quietContext(run, step, view), "read"));
    view.restore(step);
    if (step.changes.some(({ op }) => op === "committed")) withoutFrom(step.seq + 1);
  }
  return fresh;
}

/** The run that this step started and read, or null. */
async function childOf({ id }: RunRecord, { result }: Step, { engine }: Host): Promise<Recorded | null> {
  const { run: name } = (JSON.parse(result ?? "null") ?? {}) as { run?: unknown };
  const run = typeof name === "string" ? await engine.get(name) : null;
  return run?.parent === id ? { run, steps: (await engine.steps(run.id)).filter(({ state }) => state !== "intent") } : null;
}

/** What a read-only child would answer its caller now. */
async function resultNow(child: Recorded, { result }: Step, host: Host, isBeforeGate: boolean): Promise<Json> {
  if (!(await host.engine.isProven(child.run.id)))
    throw new ClearedError("HISTORY_DIVERGED", `Nothing proves what ${child.run.id} has read.`);
  const fresh = await freshIn(child, 0, true, host, isBeforeGate ? Number.POSITIVE_INFINITY : -1);
  const was = JSON.parse(result ?? "null") as Record<string, Json>;
  if (fresh.size === 0) return was;
  const { effects, missing } = await triedOn(child, fresh, host);
  const { status, outcome, result: now, error } = effects;
  const failed = error ?? (missing === null ? null : { code: "HISTORY_DIVERGED", message: missing });
  return { ...was, status, outcome, result: now, error: failed && { code: failed.code, message: failed.message } };
}

/** It reads remote records, not files here or the words of a model or a person. */
const isOutside = ({ remote, call, plugin, stated, access }: Primitive): boolean =>
  (remote === true || call !== undefined || plugin !== null) && stated !== true && access !== "model";

/** A call that was refused before it was sent, or of which its tool's record shows nothing, changed nothing. */
const hasActed = ({ effect, attempts, changes }: Step): boolean =>
  effect === "external" && attempts > 0 && !changes.some((one) => one.op === "verified" && isWithout(one.write));
const isWithout = ({ status, diff }: VerifiedWrite) => status === "WRITE_FAILED" && Object.keys(diff).length === 0;

/** A result in which the order of keys and rows does not matter. */
const unordered = (result: string | null): string => (result === null ? "" : canonicalJson(sorted(JSON.parse(result) as Json)));

function sorted(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, sorted(one)]));
  const rows = value.map(sorted);
  const isRows = rows.every((one) => typeof one === "object" && one !== null);
  return isRows
    ? rows
        .map((one) => [canonicalJson(one), one] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, one]) => one)
    : rows;
}

const verdictsIn = (steps: readonly Step[]): Verdict[] =>
  steps.flatMap(({ changes }) => changes.flatMap((one) => (one.op === "verdict" ? [one.verdict] : [])));

/** What the policy requires now and did not require then. */
function demanded(was: readonly Verdict[], now: readonly Verdict[]): string | null {
  const rules = (one: Verdict | undefined) => [
    ...(one?.triggered ?? []).filter(({ action }) => action !== "inform"),
    ...(one?.indeterminate ?? []),
  ];
  const more = now.find((one, n) => {
    const before = was[n];
    const known = rules(before).map(({ rule }) => rule);
    return (
      rules(one).some(({ rule }) => !known.includes(rule)) ||
      one.levels.some((level) => before?.levels.includes(level) !== true) ||
      one.approvals > (before?.approvals ?? 0)
    );
  });
  return more?.summary ?? null;
}

const isDecided = ({ changes }: Step): boolean => changes.some(({ op }) => op === "decided");

/** What a person was asked, call by call. */
const questionsIn = (steps: readonly Step[]): [name: string, calls: Json, otherwise: Json][] =>
  steps.filter(isDecided).map(({ name, params }) => {
    const { calls = null, otherwise = null } = JSON.parse(params) as Record<string, Json>;
    return [name, calls, otherwise];
  });

const callsIn = (questions: ReturnType<typeof questionsIn>): string[] =>
  questions.flatMap(([, ...calls]) => calls.flat().map(canonicalJson));

function otherwise(asked: ReturnType<typeof questionsIn>, steps: readonly Step[], missing: string | null, act: DoorCall): string | null {
  const at = steps.findIndex(hasActed);
  const first = steps[at];
  if (first === undefined) return missing ?? `it would end without ${act.name}(${clip(act.params, 200)})`;
  const now = questionsIn(steps.slice(0, at));
  if (now.length < asked.length) return "the policy alone would decide";
  if (canonicalJson(now) !== canonicalJson(asked)) {
    const lost = callsIn(asked).filter((call) => !callsIn(now).includes(call));
    return `a person would be asked for other calls${
      lost.length === 0
        ? ""
        : `, and not for ${lost
            .slice(0, SHOWN)
            .map((call) => clip(call, 200))
            .join(", ")}`
    }`;
  }
  return sameCall(act, first) ? null : `its next act would be ${first.name}(${clip(first.params, 200)})`;
}
