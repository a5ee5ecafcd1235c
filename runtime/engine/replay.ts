/**
 * Replay: execute a recorded run again against its own history and compare. Nothing is written and nothing acts: recorded answers are
 * served, pure calls are computed again and their results compared, and the script must end where it ended before. Also divergence: whether
 * two calls are the same, and the message that names both.
 */
import { type At, ClearedError, toWire } from "../kernel/errors.ts";
import type { Json, RunLog, RunRecord, Step, WorkspaceView } from "../kernel/ports.ts";
import { API, type StepContext, callPrimitive, contextAlone } from "../kernel/primitive.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { clip } from "../kernel/text.ts";
import { isObject } from "../rules/tools/shape.ts";
import type { World } from "./world.ts";
import { type Callable, callableIn, jobOf } from "./script.ts";

/** A run that starts now on the code of a commit and is not in any store. `why`: its purpose, as its cause. */
export function triedRun(of: { id: string; agent: string; input: Json; commit: string; why: string; now: number }): RunRecord {
  const { id, agent, input, commit, why, now } = of;
  return {
    ...{ id, agent, input, mode: "dry", status: "running", attempt: 1 },
    ...{ pin: { commit, blob: "", api: API }, cause: { kind: "command", key: why } },
    ...{ reason: null, waitsFor: null, outcome: null, result: null, meta: null, error: null },
    ...{ createdAt: now, startedAt: now, endedAt: null },
  };
}

/** A log that stores nothing: for reading, trials and comparison. */
export function detachedLog(run: RunRecord, recorded: readonly Step[] = []): RunLog {
  const steps = [...recorded];
  const put = (step: Step) => void (steps[step.seq] = step);
  return {
    run,
    steps,
    ours: true,
    here: true,
    abort: new AbortController().signal,
    record: put,
    intent: put,
    settle: put,
    event: () => undefined,
    flush: () => undefined,
    signals: () => [],
    openedAt: () => null,
    release: () => undefined,
    wait: () => undefined,
    end: () => undefined,
    requeue: () => undefined,
  };
}

/** True for a run that ended at a call which is not in its history: by a blocking verdict, a rejection, or an answer that never came. */
export function stopped({ outcome, result }: RunRecord): boolean {
  const answer = (result ?? {}) as { outcome?: Json; reason?: Json };
  return outcome !== "completed" && answer.outcome === outcome && typeof answer.reason === "string";
}

/** Whether the script said this: to its answer the runtime adds what could not be verified, and the case of a run that did not complete. */
function isAnswer(said: Json, { outcome, result }: RunRecord): boolean {
  const isAdded = (key: string) => outcome !== "completed" || key === "not_verified";
  const own =
    isObject(said) && isObject(result) ? Object.entries(result).filter(([key]) => Object.hasOwn(said, key) || !isAdded(key)) : null;
  return canonicalJson(said) === canonicalJson(own === null ? result : Object.fromEntries(own));
}

/** `findings` is empty when the replay equals the record. */
export async function replayRun(
  run: RunRecord,
  steps: readonly Step[],
  world: World,
): Promise<{ same: boolean; findings: string[]; steps: number }> {
  const findings: string[] = [];
  const script = await world.script(run);
  const callable = callableIn(world, script);
  const answered = steps.filter((step) => step.state !== "intent");
  const end = await world.sandbox.execute({
    ...jobOf(run, script, callable),
    history: answered,
    limits: await world.limits(run),
    call: async (call) => {
      const doubt = steps[call.seq];
      if (doubt?.state === "intent" && !sameCall(doubt, call)) findings.push(differs(call.seq, doubt, call));
      if (run.status === "done" && !stopped(run))
        findings.push(
          `step ${call.seq}: the script continues with ${call.name}, but the recorded run ended after ${answered.length} steps`,
        );
      return { kind: "suspend" };
    },
  });
  if (end.kind === "diverged") findings.push(differs(end.seq, end.recorded, end.actual));
  const last = steps.at(-1);
  if (end.kind === "result" && last?.state === "intent") findings.push(differs(last.seq, last, null));
  if (end.kind === "result" && run.status === "done" && run.outcome !== "expired" && !isAnswer(JSON.parse(end.json), run))
    findings.push(`result: recorded ${JSON.stringify(run.result)}, now ${end.json}`);
  if (end.kind === "failed" && end.error.code !== run.error?.code)
    findings.push(`the replay fails with ${end.error.code}: ${end.error.message}`);
  for (const step of answered) findings.push(...(await recompute(run, step, world, callable)));
  return { same: findings.length === 0, findings, steps: answered.length };
}

/** Why a run cannot continue on the script that `world` gives it: a step that script would not make again, or other states. Nothing acts. */
export async function obstaclesTo(run: RunRecord, steps: readonly Step[], world: World): Promise<string[]> {
  const { machine } = (await world.script(run)).header;
  const { findings } = await replayRun(run, steps, world);
  const entered = steps.flatMap((step) => step.changes).findLast((change) => change.op === "entered");
  if (entered === undefined || entered.machine === machine?.hash) return findings;
  const now = machine?.states.map((one) => `${one.state}${one.conditional ? "?" : ""}`).join(", ") ?? "none";
  return [`it has entered ${entered.state} of another list of states than today's: ${now}`, ...findings];
}

/** `params` is JSON text. */
type Call = Pick<Step, "name" | "params">;

/** Equal name and equal parameters, whatever the order of their keys. */
export function sameCall(recorded: Call, call: Call): boolean {
  return (
    recorded.name === call.name &&
    (recorded.params === call.params || canonicalJson(JSON.parse(recorded.params)) === canonicalJson(JSON.parse(call.params)))
  );
}

/** `actual` null: the script ended instead. */
export function divergence(run: RunRecord, seq: number, recorded: Call, actual: Call | null, at?: At): ClearedError {
  const now = actual === null ? "the script ends here" : `the script now calls ${actual.name}(${clip(actual.params, 200)})`;
  return new ClearedError(
    "HISTORY_DIVERGED",
    `Step ${seq} of ${run.id} was recorded as ${recorded.name}(${clip(recorded.params, 200)}), but ${now}. ` +
      `Resume it on the version it began with (\`cleared runs resume ${run.id} --at <commit>\`), or cancel it (\`cleared runs cancel ${run.id}\`).`,
    { data: { step: seq, recorded, actual }, at },
  );
}

function differs(seq: number, recorded: Call, actual: Call | null): string {
  const now = actual === null ? "the script ends" : `${actual.name}(${actual.params})`;
  return `step ${seq}: recorded ${recorded.name}(${recorded.params}), now ${now}`;
}

/** For repeating a recorded call that neither asks nor acts. */
export function quietContext(run: RunRecord, step: Pick<Step, "seq" | "at">, view: WorkspaceView, process?: string): StepContext {
  const same = { key: `${run.id}/${step.seq}`, now: step.at, today: view.today(step.at) };
  return contextAlone({ ...same, ports: view.ports, run: { id: run.id, agent: run.agent, mode: "backtest", process } });
}

async function recompute(run: RunRecord, step: Step, world: World, callable: Callable): Promise<string[]> {
  if (step.effect !== "pure") return [];
  const view = await world.view(run, detachedLog(run), () => step.at);
  const ctx = quietContext(run, step, view);
  let now: string;
  try {
    now = canonicalJson(await callPrimitive(await callable.primitive(step.name), JSON.parse(step.params) as Json, ctx));
  } catch (error) {
    now = toWire(error).code;
  }
  const recorded = step.error === null ? canonicalJson(JSON.parse(step.result ?? "null")) : step.error.code;
  return now === recorded ? [] : [`step ${step.seq}: ${step.name} was ${recorded}, and is ${now} computed again`];
}
