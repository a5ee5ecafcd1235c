/** What a primitive is, declared once (typings, lint, dry run, docs and the contract test are derived), and the one way to call it. */
import { z } from "zod";
import { ClearedError, type Code, didYouMean } from "./errors.ts";
import type {
  Access,
  Call,
  CardDraft,
  Change,
  Decision,
  Effect,
  Json,
  Outcome,
  PrimitivePorts,
  WaitReason,
  VerifiedWrite,
} from "./ports.ts";
import { afterAwake } from "./processes.ts";
import type { ProcessState } from "./states.ts";

export const EFFECTS = ["pure", "read", "write", "external", "notify", "control"] as const satisfies readonly Effect[];

/** Version of the primitive contract a run is pinned to; bump only on an incompatible change. */
export const API = 1;

/** What a running primitive sees. All of it is the run's own view. */
export interface StepContext {
  ports: PrimitivePorts;
  run: { id: string; agent: string; mode: "live" | "dry" | "backtest"; process?: string | undefined };
  /** `run/step`: the idempotency key an external target must deduplicate by. */
  key: string;
  /** Logical time of this call, ms; the same on replay. */
  now: number;
  /** The day of `now` in the workspace's time zone, YYYY-MM-DD. */
  today: string;
  /** True when an earlier execution may have acted already: check before acting. */
  inDoubt: boolean;
  abort: AbortSignal;
  /** Must be called right before something leaves this process. @throws OWNER_FENCED once another process owns the workspace */
  leaving?(): void;
  /**
   * Returns the decision of a gate of this run, or suspends the run until there is one. Never returns to a caller that must wait:
   * it throws a control signal that only the engine catches.
   */
  gate(gate: Gate): Promise<Decision>;
  /** Commits the run's writes so far; null when there was nothing to write. Suspends the run while a person's edit blocks the commit. */
  commit(message: string): Promise<string | null>;
  /** Position of the run's state machine; null for an agent without `states:`. */
  process: ProcessState | null;
  /** Asks a person about what the process could not settle. Returns how the run ends when they stop it, else null. */
  escalate(why?: string): Promise<End | null>;
  /** What this run has written outside before this call. */
  writes?: readonly VerifiedWrite[];
  /** The run's last view of a record: the answer of this reading call, or the record after the run's own write. */
  seen?(read: Call): Json | undefined;
  /** What a control call changed in the run itself; recorded with the step. */
  changed(change: Change): void;
}

export interface Gate {
  reason: WaitReason;
  card: Omit<CardDraft, "run" | "gate">;
}

export interface Declaration<P extends z.ZodObject, R extends z.ZodType> {
  /** Equals the const it is assigned to. */
  name: string;
  effect: Effect;
  /** Its row of the capability table in spec/worker.md 2.4. Default: the row named like its effect; there is none for `control`. */
  access?: Access;
  summary: string;
  params: P;
  returns: R;
  /** Codes that its run may throw. Default: none. */
  errors?: readonly string[];
  /** One call that type-checks and runs in a starter workspace. */
  example: string;
  /** Further call forms the sandbox accepts, as signatures for the typings. */
  also?: readonly string[];
  /** A read that waits for something outside; when it is slow, the run's slot is freed. Reads of plugins always count as remote. */
  remote?: true;
  /**
   * What an answer follows from, where a backtest need not have recorded it. tree: the files of a commit and the run's writes. statement:
   * a file of import/, and the settings for reading statements. run: the run's own clock and mode.
   */
  from?: "tree" | "statement" | "run";
  /** Plugins only: answer within so many ms. Default: 60,000. */
  timeoutMs?: number;
  /**
   * external only: why a repeat is harmless. `key`: the target deduplicates by ctx.key. `asks`: it may not be, and the call itself asks a person
   * where ctx.inDoubt. Without it: read-back, else a person decides.
   */
  idempotent?: "key" | "asks";
  /**
   * external and notify: after a crash, tells whether the call with ctx.key happened; null when that is unknown. `harmless`: the target
   * recognises the key, so that a repeat changes nothing if the call did happen. `withinMs`: how long the target may take.
   */
  readBack?(
    params: z.output<P>,
    ctx: StepContext,
  ): Promise<{ happened: true; result: z.input<R> } | { happened: false; harmless?: true; withinMs?: number } | null>;
  /** Effect and access of one call, where they depend on its parameters (mcp_call, agent_call); the declared ones are then the widest possible. */
  classify?(params: z.output<P>, ctx: StepContext): Promise<{ effect: Effect; access: Access }>;
  /** What `uses:` must name for this call instead of the domain: `agent:NAME`. Pure. */
  capability?(params: z.output<P>): string;
  /** What `uses:` must name in addition. Pure. */
  needs?(params: z.output<P>): string[];
  /** Its answer is somebody's statement, so it is not a source of amounts. */
  stated?: true;
  /** The call as approvals and cards name it. Default: `{tool: name, params}`. Pure. */
  call?(params: z.output<P>): Call;
  run(params: z.output<P>, ctx: StepContext): z.input<R> | Promise<z.input<R>>;
  /** What a dry run answers instead of acting. Required for external and notify. */
  dryRun?(params: z.output<P>, ctx: StepContext): z.input<R> | Promise<z.input<R>>;
}

export interface Primitive<P extends z.ZodObject = z.ZodObject, R extends z.ZodType = z.ZodType> extends Declaration<P, R> {
  access: Access;
  errors: readonly string[];
  /** The parameter that may be passed bare: the only required one, if there is exactly one. */
  bare: string | null;
  /** `journal` of `journal_add_double`: what `uses:` names. */
  domain: string;
  /** Where a plugin's primitive comes from; null for built-in ones. */
  plugin: string | null;
  /** File of the workspace that declares it: a synthesized tool (engine/tool-scripts.ts). */
  tool?: string;
}

/** Schemas whose key may be left out. */
const ABSENT: ReadonlySet<string> = new Set(["optional", "default", "prefault"]);

type Acting = { effect: "external" | "notify" };
type Moving = { effect: "control" };

/**
 * Declares a primitive. An external or notify primitive without `dryRun` does not compile, nor a control one without `access`.
 * @throws PLUGIN_INVALID when the name is not domain_verb in snake_case
 */
export function definePrimitive<P extends z.ZodObject, R extends z.ZodType, D extends Declaration<P, R>>(
  declaration: D & { params: P; returns: R } & (D extends Acting ? { dryRun: NonNullable<Declaration<P, R>["dryRun"]> } : unknown) &
    (D extends Moving ? { access: Access } : unknown),
): Primitive<P, R> {
  const { name, effect, access, errors = [] }: Declaration<P, R> = declaration;
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name)) {
    throw new ClearedError("PLUGIN_INVALID", `"${name}" is not a primitive's name: write domain_verb in snake_case.`);
  }
  // By the kind of the schema, not by what it accepts: z.any() accepts undefined, yet its key must be present.
  const required = Object.entries(declaration.params.shape).filter(([, schema]) => !ABSENT.has(schema._zod.def.type));
  return {
    ...(declaration as Declaration<P, R>),
    access: access ?? (effect as Exclude<Effect, "control">),
    errors,
    params: declaration.params.strict() as unknown as P,
    bare: required.length === 1 ? (required[0]?.[0] ?? null) : null,
    domain: name.split("_")[0] ?? name,
    plugin: null,
  };
}

/** Thrown by ctx.gate and ctx.commit to stop an execution without telling the script. Only engine/run.ts catches it. */
export class Suspend {
  readonly reason: WaitReason;
  readonly waitsFor: string;
  readonly options: { until?: number; gate?: string; seen?: number; child?: string };
  constructor(reason: WaitReason, waitsFor: string, options: { until?: number; gate?: string; seen?: number; child?: string } = {}) {
    this.reason = reason;
    this.waitsFor = waitsFor;
    this.options = options;
  }
}

/** Thrown by a control primitive to end the run with an outcome, without telling the script. Only engine/run.ts catches it. */
export class End {
  readonly outcome: Outcome;
  readonly why: string;
  /** The gate that expired: an answer that arrives before the end is recorded still counts. */
  readonly gate: string | null;
  /** Who rejected it; null where no person did. */
  readonly by: string | null;
  /** Added to the run's answer. */
  readonly more: { take_back?: string[] };
  constructor(outcome: Outcome, why: string, { gate = null, by = null, more = {} }: Partial<Pick<End, "gate" | "by" | "more">> = {}) {
    this.outcome = outcome;
    this.why = why;
    this.gate = gate;
    this.by = by;
    this.more = more;
  }
}

type Alone = Partial<Omit<StepContext, "ports">> & Pick<StepContext, "run"> & { ports?: Partial<PrimitivePorts> };

/** The context of a call outside a run's execution: it has only the ports passed in, asks nobody and commits nothing. */
export function contextAlone({ ports = {}, ...known }: Alone): StepContext {
  const nobody = () => Promise.reject(new Error("a call outside a run asks nobody and commits nothing"));
  return {
    ...{ key: `${known.run.id}/0`, now: 0, today: "1970-01-01", inDoubt: false, process: null },
    ...{ gate: nobody, commit: nobody, escalate: async () => null, changed: () => undefined },
    abort: known.abort ?? new AbortController().signal,
    ...known,
    // A primitive that needs another port is the caller's mistake.
    ports: ports as PrimitivePorts,
  };
}

/** A plugin's call may wait for the network; a built-in one only waits for our own ports. 60 s: split slower work into several calls. */
const PLUGIN_TIMEOUT_MS = 60_000;

/**
 * One call: validate, run or dry-run, validate. `effect` is the call's own where it depends on its parameters.
 * @throws PARAMS_INVALID, PLUGIN_FAILED, PRIMITIVE_TIMEOUT (plugins), and what the primitive itself throws
 */
export async function callPrimitive(primitive: Primitive, raw: Json, ctx: StepContext, effect: Effect = primitive.effect): Promise<Json> {
  const params = parseParams(primitive, raw);
  const acts = effect === "external" || effect === "notify";
  const dry = ctx.run.mode !== "live" && acts;
  // A primitive that acts only for some calls has a dry run for those only.
  const simulated = dry || (ctx.run.mode !== "live" && primitive.effect === effect);
  const act = simulated ? (primitive.dryRun ?? (dry ? undefined : primitive.run)) : primitive.run;
  if (act === undefined) throw new ClearedError("PLUGIN_INVALID", `${primitive.name} acts outside and has no dryRun.`);
  let value: unknown;
  if (acts && !simulated) ctx.leaving?.();
  try {
    value = primitive.plugin === null ? await act(params, ctx) : await inTime(primitive, async () => act(params, ctx));
  } catch (error) {
    if (primitive.plugin === null || error instanceof ClearedError || error instanceof Suspend) throw error;
    throw new ClearedError(
      "PLUGIN_FAILED",
      `${primitive.name} (${primitive.plugin}) threw: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
  const checked = primitive.returns.safeParse(value);
  if (!checked.success) {
    const where = primitive.plugin === null ? "INTERNAL" : "PLUGIN_FAILED";
    throw new ClearedError(where, `${primitive.name} returned something other than it declares: ${z.prettifyError(checked.error)}`);
  }
  return checked.data as Json;
}

/** A plugin that hangs loses its call; its later result is ignored. @throws PRIMITIVE_TIMEOUT */
async function inTime<T>(primitive: Primitive, act: () => Promise<T>): Promise<T> {
  const ms = primitive.timeoutMs ?? PLUGIN_TIMEOUT_MS;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = afterAwake(ms, () =>
      reject(
        new ClearedError("PRIMITIVE_TIMEOUT", `${primitive.name} (${primitive.plugin}) did not answer within ${ms / 1000} s.`, {
          data: { primitive: primitive.name },
        }),
      ),
    );
  });
  try {
    return await Promise.race([act(), late]);
  } finally {
    clearInterval(timer);
  }
}

/**
 * Parameters checked and completed with defaults.
 * @throws PARAMS_INVALID naming the parameter, or the code that the shape of a wrong value names (`params.code`: JOURNAL_AMOUNT, JOURNAL_DATE)
 */
export function parseParams(primitive: Primitive, raw: Json): Record<string, unknown> {
  const parsed = primitive.params.safeParse(raw);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const lines = issues.slice(0, 5).map((issue) => {
    const path = issue.path.map((part, i) => (typeof part === "number" ? `[${part}]` : `${i === 0 ? "" : "."}${String(part)}`)).join("");
    const known = issue.code === "unrecognized_keys" && path === "" ? Object.keys(primitive.params.shape) : [];
    const text =
      issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => `unknown key "${key}".${didYouMean(key, known)}`).join(" ")
        : issue.message;
    return path === "" ? text : `${path}: ${text}`;
  });
  const more = issues.length > lines.length ? `; and ${issues.length - lines.length} more` : "";
  // A missing key is always PARAMS_INVALID; the shape of a wrong value may name another code.
  const [first] = issues;
  const code =
    first?.code === "custom" && first.message !== "is missing" && typeof first.params?.["code"] === "string"
      ? (first.params["code"] as Code)
      : "PARAMS_INVALID";
  throw new ClearedError(code, `${primitive.name}: ${lines.join("; ")}${more}`, { data: { primitive: primitive.name } });
}
