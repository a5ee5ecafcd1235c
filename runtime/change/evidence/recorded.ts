/**
 * Matches recorded steps after the first difference with the calls that other code makes: by name, parameters and count. Each recorded step
 * answers once. A match moves the trial's clock to the time of the step. It also provides the primitives of a trial: rights, states and
 * parameters are checked as usual; only the answer comes from the recording, is simulated, or is missing.
 */
import { sameCall } from "../../engine/replay.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import { fromWire, kindOf } from "../../kernel/errors.ts";
import type { Call, Change, Decision, DoorCall, Effect, Json, LlmRole, Step } from "../../kernel/ports.ts";
import { type Gate, type Primitive, type StepContext, Suspend } from "../../kernel/primitive.ts";
import { shortJson } from "../../kernel/text.ts";

/** Ends the trial: no recording has the answer it needs. */
export function missing(sentence: string): Suspend {
  return new Suspend("in_doubt", sentence);
}

export type Recorded = ReturnType<typeof createRecorded>;

/** `served`: how many of the steps the child answers by itself. */
export function createRecorded(all: readonly Step[], served: number, began: number) {
  const steps = all.slice(served).filter((step) => !isRefused(step));
  let queues: Map<string, Step[]> | null = null;
  let twin: Step | null = null;
  let clock = Math.max(began, all[served - 1]?.at ?? 0);
  const decided = new Set<Step>();
  const taken = new Set<Step>();
  const commits = steps.flatMap((step) => step.changes.flatMap((change) => (change.op === "committed" ? [change.commit] : [])));
  let supposed = 0;
  const isAct = (step: Step) => step.effect === "external" && step.state === "ok";
  const outside = all.slice(0, served).filter(isAct).map(keyOf);
  let underWay: Pick<Step, "name" | "params"> = { name: "", params: "null" };
  /** True if exactly what preceded this recorded step outside has been done outside so far. */
  const isAsBefore = (seq: number): boolean => {
    const before = all.filter((step) => isAct(step) && step.seq < seq).map(keyOf);
    return before.length === outside.length && before.sort().join("\n") === [...outside].sort().join("\n");
  };

  return {
    /** Starts a call: its recorded twin is taken, if there is one. */
    called(call: DoorCall): void {
      queues ??= Map.groupBy(steps, sizeKey);
      underWay = call;
      const queue = queues.get(sizeKey(call)) ?? [];
      const at = queue.findIndex((step) => !taken.has(step) && sameCall(step, call));
      twin = at < 0 ? null : (queue.splice(at, 1)[0] ?? null);
      if (twin !== null) taken.add(twin);
      if (twin !== null) clock = Math.max(clock, twin.at);
    },
    get twin(): Step | null {
      return twin;
    },
    /** An unused recorded answer of a model to the same question in other words; null if there is none. */
    inOtherWords(): Json {
      const asked = wordless(underWay);
      const isIt = (step: Step) => step.name === underWay.name && step.result !== null && !taken.has(step) && wordless(step) === asked;
      const found = steps.find(isIt);
      if (found !== undefined) taken.add(found);
      return JSON.parse(found?.result ?? "null") as Json;
    },
    /** The latest recorded answer to the current call, however often it was made; null if there is none or an act outside has followed. */
    again: () => all.findLast((step) => step.state === "ok" && sameCall(step, underWay) && isAsBefore(step.seq)) ?? null,
    /** ms: when the last twin was recorded. */
    now: () => clock,
    /** The idempotency key of a call: its twin's place in the history, else a place that no recorded step has. */
    key: (run: string, seq: number) => `${run}/${twin?.seq ?? all.length + seq}`,
    /** The recorded decision on the same question. */
    decisionOf(gate: Gate): Decision | null {
      const asked = gate.card.kind === "form" ? canonicalJson(gate.card.fields) : callsKey(gate.card.calls);
      const isSame = (step: Step): boolean => {
        const decision = decisionIn(step);
        if (decision === null || decided.has(step)) return false;
        const params = JSON.parse(step.params) as { calls?: Call[]; fields?: Json };
        if (gate.card.kind === "form") return params.fields !== undefined && canonicalJson(params.fields) === asked;
        return gate.card.calls.length > 0 && callsKey(params.calls ?? []) === asked;
      };
      const found = twin !== null && decisionIn(twin) !== null ? twin : steps.find(isSame);
      if (found === undefined) return null;
      decided.add(found);
      clock = Math.max(clock, found.at);
      return decisionIn(found);
    },
    /** The first person who decided in the recorded run; "a person" if nobody did. */
    decider: all.map(decisionIn).find((one) => one !== null)?.by ?? "a person",
    /** The recorded effect of a call whose parameter has this value, or null. */
    effectOf(parameter: string, value: string): Effect | null {
      if (twin !== null) return twin.effect;
      const found = all.find(
        (step) => step.params.includes(value) && (JSON.parse(step.params) as Record<string, Json>)[parameter] === value,
      );
      return found?.effect ?? null;
    },
    /** For a current call that acts outside: whether everything done outside before it equals what preceded its twin. */
    follows(acts: boolean): boolean {
      const isSame = isAsBefore(twin?.seq ?? 0);
      if (acts) outside.push(keyOf(underWay));
      return isSame;
    },
    /** Names of the recorded commits in order, then invented ones. */
    commit: () => commits.shift() ?? `${++supposed}`.padStart(40, "0"),
  };
}

/** Calls as one text, regardless of order. */
export function callsKey(calls: readonly Call[]): string {
  return calls
    .map(({ tool, params }) => canonicalJson([tool, params]))
    .sort()
    .join("\n");
}

/** Equal for equal calls and rarely for others, in a millisecond per megabyte: reordered keys have the same characters. */
function sizeKey({ name, params }: Pick<Step, "name" | "params">): string {
  let sum = 0;
  for (let n = 0; n < params.length; n++) sum += params.charCodeAt(n);
  return `${name} ${params.length} ${sum}`;
}

/** What a model is asked about and may answer, without the wording and the model. */
function wordless({ params }: Pick<Step, "params">): string {
  const { instruction: _, examples: __, samples: ___, role: ____, classes, schema, ...about } = JSON.parse(params) as Record<string, Json>;
  const names = (classes as { name: Json }[] | undefined)?.map(({ name }) => name) ?? null;
  const described = Object.entries((schema ?? {}) as Record<string, { describe?: Json }>);
  const fields = described.map(([name, { describe: _____, ...one }]) => [name, one]);
  return canonicalJson([about, names, fields] as unknown as Json);
}

function keyOf({ name, params }: Pick<Step, "name" | "params">): string {
  return `${name}\n${canonicalJson(JSON.parse(params))}`;
}

function decisionIn(step: Step): Decision | null {
  const answered = step.changes.find((change) => change.op === "answered");
  if (answered !== undefined) return { card: 0, decision: "approved", by: answered.by, at: step.at, result: answered.values };
  const change = step.changes.find((one) => one.op === "decided");
  if (change === undefined) return null;
  const { decision, by, calls, people, self } = change;
  const told = { ...(people === undefined ? {} : { people }), ...(self === undefined ? {} : { self }) };
  // approval_wait returns the reason of a rejection to the script.
  const reason = (JSON.parse(step.result ?? "null") as { reason?: string } | null)?.reason;
  return {
    card: 0,
    decision,
    by,
    at: step.at,
    // An approval applies to the current question; only an edit replaces the calls.
    ...(decision === "edited" ? { calls } : {}),
    ...(typeof reason === "string" ? { reason } : {}),
    ...told,
  };
}

/** True for a call that was refused before it reached anything, for lack of a right or an error of the script. */
export const isRefused = ({ error }: Step): boolean => error !== null && kindOf(error.code) === "script";

interface Around {
  recorded: Recorded;
  /** Applies what a recorded step changed to the trial's view. */
  restore(step: Step): void;
  /** What had to be supposed, in words. */
  supposed: string[];
  /** True when statements are read again, because the change says otherwise how they are read. */
  rereads: boolean;
  /** Asks models what no recording answers; without it such a question ends the trial. */
  ask: AskAnew | null;
  read: ReadNow | null;
}

export type ReadNow = (primitive: Primitive, params: Json, at: Pick<Step, "seq" | "at">) => Promise<Json>;

/** One question of a model, asked anew. was: its recorded answer in other words or by another model, or null. @throws Suspend where it is not answered */
export type AskAnew = (primitive: Primitive, params: unknown, ctx: StepContext, was: Json) => Promise<Json>;

/** The primitive with the world replaced. Pure ones and the run's own moves are as they are. */
export function withRecordedAnswers(primitive: Primitive, around: Around): Primitive {
  const { recorded } = around;
  const keyed = (ctx: StepContext): StepContext => ({ ...ctx, key: recorded.key(ctx.run.id, Number(ctx.key.split("/").at(-1))) });
  const { effect, dryRun, ...rest } = primitive;
  const acts = effect === "external" || effect === "notify";
  if (effect === "pure") return primitive;
  if (!acts && effect !== "read") return { ...primitive, run: (params, ctx) => primitive.run(params, keyed(ctx)) };

  // What the world outside says depends on what was done to it before.
  const isOutside = acts || primitive.remote === true || primitive.plugin !== null;
  const recall = (params: unknown, follows: boolean) => {
    if (!follows)
      around.supposed.push(
        `${primitive.name}(${shortJson(params, 200)}) answers as recorded, though other things were done outside before it`,
      );
  };

  const look: Primitive["run"] = async (params, ctx) => {
    const { from } = primitive;
    // Of a run that is under way the answers are those of now.
    const computes =
      (from === "tree" && (around.read === null || recorded.twin === null)) ||
      (from === "statement" && around.rereads) ||
      (from === "run" && recorded.twin === null);
    // As live: what the script is told must not depend on its being tried.
    const anew = primitive.access === "model" ? await otherModel(recorded.twin, params, ctx) : null;
    if (anew !== null && around.ask === null) throw missing(`a model would have to be asked again: ${primitive.name} ${anew}`);
    if (anew !== null && around.ask !== null) {
      const was = recorded.twin === null ? recorded.inOtherWords() : (JSON.parse(recorded.twin.result ?? "null") as Json);
      return around.ask(primitive, params, keyed(ctx), was);
    }
    if (computes) return primitive.run(params, { ...keyed(ctx), run: { ...ctx.run, mode: "live" } });
    if (recorded.twin !== null) {
      if (isOutside) recall(params, recorded.follows(false));
      return answerOf(recorded.twin, ctx, around);
    }
    // What the workspace answers changes with what the run writes; the world outside stays until something is done to it.
    const again = isOutside ? recorded.again() : null;
    if (again === null && isOutside && around.read !== null)
      return around.read(primitive, params as Json, { seq: Number(ctx.key.split("/").at(-1)), at: ctx.now });
    if (again === null)
      throw missing(
        `it asks ${askedIn(params) ?? primitive.name} something it never asked before: ${primitive.name}(${shortJson(params, 200)})`,
      );
    around.supposed.push(
      `${primitive.name}(${shortJson(params, 200)}) answers what it did before, though the recorded run did not ask it that often`,
    );
    return answerOf(again, ctx, around);
  };
  if (!acts) return { ...rest, effect, run: look };
  return {
    ...rest,
    effect,
    run: look,
    dryRun: async (params, ctx) => {
      const follows = recorded.follows(effect === "external");
      if (recorded.twin !== null) {
        recall(params, follows);
        return answerOf(recorded.twin, ctx, around);
      }
      const answer = (await dryRun?.(params, keyed(ctx))) as Json;
      around.supposed.push(`${primitive.name}(${shortJson(params, 200)}) answers ${shortJson(answer, 200)}`);
      return answer;
    },
  };
}

/** A model's answer holds for the very question and the model that gave it: why this one's does not; null where it does. */
async function otherModel(twin: Step | null, params: unknown, { ports }: StepContext): Promise<string | null> {
  if (twin === null) return `with ${shortJson(params, 200)}`;
  const asked = twin.changes.find((change) => change.op === "asked");
  const { role } = params as { role: LlmRole };
  // Where nothing is configured here, the recording still says what came of it.
  const now = await ports.llm.modelOf({ role }).catch(() => null);
  if (asked === undefined || now === null || asked.lowered === true || asked.model === now) return null;
  return `was answered by ${asked.model}, and the role ${role} is ${now} now`;
}

/** The tool that is asked, where a tool is. */
export const askedIn = (params: unknown): string | null =>
  typeof params === "object" && params !== null && "tool" in params ? String(params.tool) : null;

/** Decisions and moves are the trial's own. */
const OWN: ReadonlySet<Change["op"]> = new Set(["committed", "decided", "answered", "entered", "verdict"]);

async function answerOf(twin: Step, ctx: StepContext, { restore }: Around): Promise<Json> {
  if (twin.changes.some((change) => change.op === "committed")) await ctx.commit("before the call");
  const changes = twin.changes.filter((change) => !OWN.has(change.op));
  restore({ ...twin, changes });
  for (const change of changes) ctx.changed(change);
  if (twin.error !== null) throw fromWire(twin.error);
  return JSON.parse(twin.result ?? "null") as Json;
}
