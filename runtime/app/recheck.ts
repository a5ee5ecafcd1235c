/**
 * Before a run acts outside, what it goes by may be old: a person took days to answer, or another run has acted since. What it has read
 * since its last act is then read again; where an answer is another one, the run is tried on the new ones up to this act. Runs that act at
 * one server take turns until they rest, so that each judges what the one before it has left.
 * Not covered: what it read before an act of its own; other workspaces and programs between this look and the act.
 */
import { canonicalJson } from "../kernel/canonical.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { Clock, DoorCall, Json, RunLog, RunRecord, Step, Verdict } from "../kernel/ports.ts";
import { type Primitive, callPrimitive } from "../kernel/primitive.ts";
import { clip } from "../kernel/text.ts";
import { inSlots } from "../kernel/turns.ts";
import { toText, withRetries } from "../engine/attempt.ts";
import { sameCall } from "../engine/divergence.ts";
import { detachedLog, quietContext } from "../engine/replay.ts";
import { callableIn } from "../engine/script.ts";
import type { Host } from "./host.ts";
import { execSource } from "./starts.ts";

/** For longer nobody waits for another run: it may hang at a tool. */
const TURN_MS = 10_000;
const READS_AT_ONCE = 4;
/** A day or moment and nothing else, as JSON. */
const DAY = /^(?:\{"\w+":)?"\d{4}-\d\d-\d\d[\dT:.Z+-]*"\}?$/;

interface Turn {
  run: string;
  until: number;
  over: PromiseWithResolvers<void>;
}

export function createRechecks(clock: Clock, whole: () => Host) {
  const turns = new Map<string, Turn>();
  /** When a run of this process last acted at a server; before it began nobody knows. */
  const acted = new Map<string, number>();
  const began = clock.now();

  const takeTurn = async (server: string, { run, abort }: RunLog): Promise<void> => {
    for (let turn = turns.get(server); turn !== undefined && turn.run !== run.id && !abort.aborted; turn = turns.get(server)) {
      const left = turn.until - performance.now();
      if (left <= 0) break;
      const timer = setTimeout(turn.over.resolve, left);
      await turn.over.promise.finally(() => clearTimeout(timer));
    }
    if (!abort.aborted) turns.set(server, { run: run.id, until: performance.now() + TURN_MS, over: Promise.withResolvers() });
  };

  return {
    /** Why the run would not come to this act any more, in words; null while it would. `server`: whose turn it takes, until it rests. */
    async changedSince(log: RunLog, act: DoorCall, server: string): Promise<string | null> {
      const since = log.steps.findLastIndex(({ effect }) => effect === "external") + 1;
      const steps = log.steps.slice(since);
      const read = steps.find(({ effect }) => effect === "read");
      if (read === undefined || execSource(log.run.cause) !== null) return null;
      await takeTurn(server, log);
      const last = acted.get(server) ?? began;
      acted.set(server, clock.now());
      const isAsked = steps.some(({ changes }) => changes.some((one) => one.op === "decided" && (one.given?.signed.length ?? 0) > 0));
      return isAsked || last >= read.at ? triedAgain(log, since, act, whole()) : null;
    },
    /** The run has ended or waits: the next one's turn. */
    rested({ id }: Pick<RunRecord, "id">): void {
      for (const [server, { run, over }] of turns) {
        if (run !== id) continue;
        acted.set(server, clock.now());
        turns.delete(server);
        over.resolve();
      }
    },
  };
}

/** `since`: the step after its last act; what it read before that, it has changed itself. */
async function triedAgain({ run, steps }: RunLog, since: number, act: DoorCall, host: Host): Promise<string | null> {
  const callable = callableIn(host.world, await host.world.script(run));
  const fresh = new Map<number, Step>();
  await inSlots(steps.slice(since), READS_AT_ONCE, async (step) => {
    const primitive = await callable.primitive(step.name);
    if (step.effect !== "read" || !isOutside(primitive)) return;
    const view = await host.world.view(run, detachedLog(run), () => step.at);
    const asks = () => callPrimitive(primitive, JSON.parse(step.params) as Json, quietContext(run, step, view), "read");
    const answer = await withRetries("read", { ...step, attempts: 0 }, asks).then(
      (value) => ({ state: "ok" as const, result: toText(primitive, value), error: null }),
      async (error: unknown) => {
        if (!(error instanceof ClearedError)) throw error;
        const { mayRepeat } = await import("../rules/tools/recover.ts");
        // A server that cannot say has not said that something has changed: the act fails as it would at that server.
        if (step.error === null && mayRepeat(error)) throw error;
        return { state: "error" as const, result: null, error: toWire(error) };
      },
    );
    const isSame = answer.result === step.result && answer.error?.code === step.error?.code;
    // That time has passed is no change.
    const isDay = DAY.test(answer.result ?? "") && DAY.test(step.result ?? "");
    if (!isSame && !isDay) fresh.set(step.seq, { ...step, ...answer });
  });
  if (fresh.size === 0) return null;
  const { tryRun } = await import("../change/evidence/trial.ts");
  const code = { tree: host.git.tree(run.pin.commit), changed: [] };
  const trial = await tryRun(
    { run, steps: steps.map((step) => fresh.get(step.seq) ?? step), holds: Math.min(...fresh.keys()) },
    code,
    host,
  );
  const [was, now] = [steps.slice(since), trial.steps.slice(since)];
  return demanded(verdictsIn(was), verdictsIn(now)) ?? otherwise(questionsIn(was), now, trial.missing, act);
}

/** It tells of records elsewhere: neither of files here nor what a model or somebody says. */
const isOutside = ({ remote, call, plugin, stated, access }: Primitive): boolean =>
  (remote === true || call !== undefined || plugin !== null) && stated !== true && access !== "model";

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
  const at = steps.findIndex(({ effect }) => effect === "external");
  const first = steps[at];
  if (first === undefined) return missing ?? `it would end without ${act.name}(${clip(act.params, 200)})`;
  const now = questionsIn(steps.slice(0, at));
  if (now.length < asked.length) return "the policy alone would decide";
  if (canonicalJson(now) !== canonicalJson(asked)) return "a person would be asked for other calls";
  return sameCall(act, first) ? null : `its next act would be ${first.name}(${clip(first.params, 200)})`;
}
