/**
 * Before a run acts outside, what it goes by may be old: a person took days to answer, it waited, or another run has acted since. What it has read
 * since its last act is then read again; where an answer is another one, the run is tried on the new ones up to this act. Runs that act at
 * one server take turns until they rest, so that each judges what the one before it has left.
 * Not covered: what it read before an act of its own; other workspaces and programs between this look and the act.
 */
import { canonicalJson } from "../kernel/canonical.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { Change, Clock, DoorCall, Json, RunLog, RunRecord, Step, Verdict, VerifiedWrite } from "../kernel/ports.ts";
import { type Primitive, callPrimitive } from "../kernel/primitive.ts";
import { clip } from "../kernel/text.ts";
import { inSlots } from "../kernel/turns.ts";
import type { ReadNow } from "../change/evidence/recorded.ts";
import { actOf } from "../engine/access.ts";
import { toText, withRetries } from "../engine/attempt.ts";
import { detachedLog, quietContext, sameCall } from "../engine/replay.ts";
import { callableIn } from "../engine/script.ts";
import type { Host } from "./host.ts";

/** How long a server may take where trust.yaml does not say. Three times that long others wait: for a read, the act and its read-back. */
const ANSWER_MS = 10_000;
/** What was read before that is read again, whatever the run has waited for. */
const OLD_MS = 60_000;
const READS_AT_ONCE = 4;
/** A day or moment and nothing else, as JSON, of what is asked without parameters. */
const DAY = /^(?:\{"(?:today|now|day|date|time|as_of|business_date)":)?"\d{4}-\d\d-\d\d[\dT:.Z+-]*"\}?$/;

interface Turn {
  run: string;
  until: number;
  over: PromiseWithResolvers<void>;
}

export function createRechecks(clock: Clock, whole: () => Host) {
  const turns = new Map<string, Turn>();
  const acting = new Set<string>();
  /** What came of a look that took long: the run is executed once more to end by it. */
  const refused = new Map<string, { seq: number; why: string }>();
  /** When a run of this process last acted; before it began nobody knows. */
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
    // Who waits for it goes on waiting for the same turn.
    if (turn?.run === run.id) turn.until = until;
    else turns.set(server, { run: run.id, until, over: Promise.withResolvers() });
  };

  return {
    /**
     * Why the run would not come to this act any more, in words; null while it would. `server`: whose turn it takes, until it rests.
     * `decided`: what was just answered at this very act.
     */
    async changedSince(log: RunLog, act: DoorCall, server: string, decided: readonly Change[]): Promise<string | null> {
      const { id } = log.run;
      const known = refused.get(id);
      if (known?.seq === act.seq) return known.why;
      await takeTurn(server, log);
      const last = acted;
      acted = clock.now();
      acting.add(id);
      // One that a crash cut off is still to be made.
      const before = log.steps.slice(0, act.seq);
      const since = before.findLastIndex(hasActed) + 1;
      const steps = before.slice(since);
      const read = steps.find(({ effect }) => effect === "read");
      if (read === undefined) return null;
      const changes = [...decided, ...steps.flatMap((one) => one.changes)];
      const isAnswered = changes.some((one) => one.op === "answered" || (one.op === "decided" && (one.given?.signed.length ?? 0) > 0));
      // One that is dated ahead may have been read at any time, if at all.
      const isOld = clock.now() - read.at > OLD_MS || read.at > clock.now();
      if (!isAnswered && !isOld && last < read.at) return null;
      const why = await triedAgain({ run: log.run, steps: before }, since, act, whole());
      if (why !== null) refused.set(id, { seq: act.seq, why });
      const turn = turns.get(server);
      if (turn?.run === id) turn.until = turnEnds(server);
      return why;
    },
    /** The run has ended or waits: the next one's turn. */
    rested({ id }: Pick<RunRecord, "id">): void {
      refused.delete(id);
      // Also when others did not wait for it any longer.
      if (acting.delete(id)) acted = clock.now();
      for (const [server, { run, over }] of turns) {
        if (run !== id) continue;
        turns.delete(server);
        over.resolve();
      }
    },
  };
}

/** `since`: the step after its last act; what it read before that, it has changed itself. */
async function triedAgain({ run, steps }: Pick<RunLog, "run" | "steps">, since: number, act: DoorCall, host: Host): Promise<string | null> {
  const callable = callableIn(host.world, await host.world.script(run));
  const fresh = new Map<number, Step>();
  const read: ReadNow = async (primitive, params, step) => {
    const ctx = quietContext(run, step, await host.world.view(run, detachedLog(run), () => step.at));
    // It may have another class than when it was read.
    const { effect } = await actOf(primitive, params, ctx, undefined);
    if (effect !== "read") throw new ClearedError("FSM_READ_ONLY", `${primitive.name} may change something now, and is not read again.`);
    return callPrimitive(primitive, params, ctx, "read");
  };
  await inSlots(steps.slice(since), READS_AT_ONCE, async (step) => {
    const primitive = await callable.primitive(step.name);
    if (step.effect !== "read" || !isOutside(primitive)) return;
    const params = JSON.parse(step.params) as Json;
    const answer = await withRetries("read", { ...step, attempts: 0 }, () => read(primitive, params, step)).then(
      (value) => ({ state: "ok" as const, result: toText(primitive, value), error: null }),
      async (error: unknown) => {
        if (!(error instanceof ClearedError)) throw error;
        const { mayRepeat } = await import("../rules/tools/recover.ts");
        // A server that cannot say has not said that something has changed: the act fails as it would at that server.
        if (step.error === null && mayRepeat(error)) throw error;
        return { state: "error" as const, result: null, error: toWire(error) };
      },
    );
    const isSame = unordered(answer.result) === unordered(step.result) && answer.error?.code === step.error?.code;
    // That time has passed is no change.
    const { tool: _, params: inner = {}, ...own } = (params ?? {}) as { tool?: Json; params?: Json };
    const isDay = canonicalJson([inner, own]) === "[{},{}]" && DAY.test(answer.result ?? "") && DAY.test(step.result ?? "");
    if (!isSame && !isDay) fresh.set(step.seq, { ...step, ...answer });
  });
  if (fresh.size === 0) return null;
  const { tryRun } = await import("../change/evidence/trial.ts");
  const code = { tree: host.git.tree(run.pin.commit), changed: [] };
  const recording = { run, steps: steps.map((step) => fresh.get(step.seq) ?? step), holds: Math.min(...fresh.keys()) };
  const trial = await tryRun(recording, code, { ...host, read, scriptIn: () => host.world.script(run) });
  const [was, now] = [steps.slice(since), trial.steps.slice(since)];
  return demanded(verdictsIn(was), verdictsIn(now)) ?? otherwise(questionsIn(was), now, trial.missing, act);
}

/** It tells of records elsewhere: neither of files here nor what a model or somebody says. */
const isOutside = ({ remote, call, plugin, stated, access }: Primitive): boolean =>
  (remote === true || call !== undefined || plugin !== null) && stated !== true && access !== "model";

/** Refused before it was sent, or by a tool whose record shows nothing of it, it has changed nothing. */
const hasActed = ({ effect, attempts, changes }: Step): boolean =>
  effect === "external" && attempts > 0 && !changes.some((one) => one.op === "verified" && isWithout(one.write));
const isWithout = ({ status, diff }: VerifiedWrite) => status === "WRITE_FAILED" && Object.keys(diff).length === 0;

/** An answer whose keys and rows have no order. */
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

/** What the policy asks for now and did not then. */
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

/** What was asked of a person, call by call. */
const questionsIn = (steps: readonly Step[]): string[] =>
  steps.flatMap(({ name, params, changes }) => {
    if (!changes.some(({ op }) => op === "decided")) return [];
    const { calls = null, otherwise = null } = JSON.parse(params) as Record<string, Json>;
    return [canonicalJson([name, calls, otherwise])];
  });

function otherwise(asked: readonly string[], steps: readonly Step[], missing: string | null, act: DoorCall): string | null {
  const at = steps.findIndex(hasActed);
  const first = steps[at];
  if (first === undefined) return missing ?? `it would end without ${act.name}(${clip(act.params, 200)})`;
  const now = questionsIn(steps.slice(0, at));
  if (now.length < asked.length) return "the policy alone would decide";
  if (canonicalJson(now) !== canonicalJson(asked)) return "a person would be asked for other calls";
  return sameCall(act, first) ? null : `its next act would be ${first.name}(${clip(first.params, 200)})`;
}
