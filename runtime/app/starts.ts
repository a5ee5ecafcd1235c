/** What a run starts from: the agent at HEAD, its header, its validated input. One place for commands, triggers, schedules and calling agents. */
import { pauseWords } from "../engine/store/pauses.ts";
import { couldBeAnybodys } from "../engine/authority.ts";
import { startedBy } from "../engine/process.ts";
import { ClearedError, amongThese, toWire } from "../kernel/errors.ts";
import { doubtIn } from "../engine/proven.ts";
import type {
  Cause,
  Children,
  Engine,
  Git,
  Given,
  Json,
  Notices,
  Once,
  Pause,
  RunLog,
  RunMode,
  RunRecord,
  RunSpec,
  Tree,
} from "../kernel/ports.ts";
import { API } from "../kernel/primitive.ts";
import { type PrivacyPolicy, groupsOf, judgeFields } from "../rules/privacy/judge.ts";
import { redactJson } from "../rules/privacy/scan.ts";
import type { DiskCache } from "../scripts/disk-cache.ts";
import { type Header, parseHeader } from "../scripts/header.ts";
import { validateInput } from "../scripts/fields.ts";
import { complexityOf } from "../rules/task-types.ts";
import type { Config } from "../workspace/settings/config.ts";
import { agentFile } from "../workspace/layout.ts";
import { sourceBlob } from "../workspace/git/tree.ts";
import type { AgentAtHead } from "./agents-at-head.ts";
import { Kept } from "../kernel/kept.ts";
import { inputsOf } from "../change/evidence/synthetic-inputs.ts";
import { NOBODY, quoted } from "../kernel/text.ts";

/** How many agents may call each other in a row. */
const DEEPEST = 8;

export interface StartOptions {
  cause: Cause;
  input: Json;
  mode?: RunMode;
  /** Not before this time, ms. */
  notBefore?: number;
  given?: Given;
  /** The person of trust.yaml whose key the caller has. */
  by?: string;
  /** The run that calls this one. */
  parent?: string;
  doubted?: boolean;
  elsewhere?: boolean;
}

/** A task in words that only asks a question gets a read-only run; so does "do not change anything". */
function onlyAsks(input: Json): boolean {
  const task = (input as { task?: Json } | null)?.task;
  return typeof task === "string" && complexityOf(task) === "readonly";
}

/**
 * The input of a business process in the form in which it may be stored: secrets, card numbers and personal numbers are masked; a task that
 * asks to disclose secrets, or declares (`data_class`) data that is not handled, is refused. No word in the text changes that.
 * @throws PRIVACY_REFUSED
 */
function guarded(agent: string, input: Json, policy: PrivacyPolicy): Json {
  const declared = (input as { data_class?: Json } | null)?.data_class;
  const dataClass = typeof declared === "string" ? declared : null;
  const judged = judgeFields(input, { direction: "inbound", policy, dataClass });
  if (judged.verdict === "refuse")
    throw new ClearedError("PRIVACY_REFUSED", `${agent} was not started: ${judged.message}`, { data: { trigger: judged.trigger } });
  return judged.verdict === "redact" ? redactJson(input, groupsOf(["redact"], "inbound", policy)) : input;
}

/** The input as the header defines it. @throws RUN_INPUT with an example that can be pasted */
function inputFor(header: Header, input: Json, command: string): Json {
  try {
    return validateInput(header, input);
  } catch (error) {
    const { code, message } = toWire(error);
    if (code !== "RUN_INPUT") throw error;
    throw new ClearedError(code, `${message} For example: \`${pasted(`cleared ${command}`, header)}\`.`, { cause: error });
  }
}

/** What starts one run, however often it comes: a tick, an event, a file, a message, a key. A key that was made up here just never comes again. */
const tickOf = ({ agent, cause: { kind, key } }: RunSpec): string => `start ${agent} ${kind} ${key}`;

export type Starts = ReturnType<typeof createStarts>;

export function createStarts(world: {
  git: Git;
  engine: Engine;
  agents: () => Promise<AgentAtHead[]>;
  config(tree: Tree): Promise<Pick<Config, "privacy">>;
  cache: DiskCache;
  paused(agent: string): Pause | null;
  sent: Once;
  /** Since when this folder is the workspace's, ms. */
  since(): number;
}) {
  const { git, engine, agents, config, cache, paused, sent, since } = world;
  // Starts in the same moment share one question, which is sent after the last of them has arrived.
  let asked: Promise<string> | null = null;
  const headNow = () =>
    (asked ??= Promise.resolve().then(() => {
      asked = null;
      return git.head();
    }));
  const headers = new Kept<string, Header>(200);
  const read = async (agent: string, cause: Cause, at?: string): Promise<{ commit: string; blob: string; header: Header }> => {
    const source = execSource(cause);
    const commit = at ?? (await headNow());
    const tree = git.tree(commit);
    const file = source?.file ?? agentFile(agent);
    const text = source?.text ?? (await tree.read(file));
    if (text === null) {
      const names = (await agents()).map((one) => one.name);
      throw new ClearedError("AGENT_UNKNOWN", `There is no agent "${agent}" in ${commit.slice(0, 7)}.${amongThese(agent, names)}`);
    }
    const blob = source === null ? ((await tree.blob(file)) ?? "") : sourceBlob(text);
    return { commit, blob, header: headers.of(`${file}\n${text}`, () => parseHeader(text, file, cache)) };
  };
  /** The run behind an event or a scheduled run: whoever started it counts as requester too, or a detour would let them approve their own request. */
  const behind = async ({ kind, detail }: Cause): Promise<{ origin: RunRecord | null; isLost: boolean }> => {
    const { run, by } = (detail ?? {}) as { run?: Json; by?: Json };
    const id = kind === "event" ? run : kind === "schedule" ? by : undefined;
    const origin = typeof id === "string" ? await engine.get(id) : null;
    return { origin, isLost: typeof id === "string" && origin === null };
  };
  const toSpec = async (agent: string, { cause, input, mode = "live", ...more }: StartOptions): Promise<RunSpec> => {
    const { commit, blob, header } = await read(agent, cause);
    const admitted = header.process === undefined ? input : guarded(agent, input, (await config(git.tree(commit))).privacy);
    const checked = inputFor(header, admitted, execSource(cause) === null ? `run ${agent}` : `exec ${execSource(cause)?.file}`);
    const { origin, isLost } = await behind(cause);
    const handed = origin === null ? more.given : handedOn(origin);
    const given = header.process !== undefined && onlyAsks(checked) ? { ...handed, readOnly: true } : handed;
    // A store that has lost it may have been changed: it could have been started by anybody.
    const by = more.by ?? origin?.by ?? (isLost ? NOBODY : undefined);
    const told = { ...(by === undefined ? {} : { by }), ...(given === undefined ? {} : { given }) };
    const known = origin === null ? cause : { ...cause, detail: { ...(cause.detail as object), ...fromRun(origin) } };
    return {
      agent,
      pin: { commit, blob, api: API },
      input: checked,
      cause: known,
      mode,
      ...more,
      ...(isLost ? { doubted: true } : {}),
      ...told,
    };
  };
  const begin = async (spec: RunSpec, also?: Parameters<Engine["start"]>[1]) => {
    const once = spec.mode === "live" ? tickOf(spec) : null;
    // It was started before, and the store has lost it or is an older one: a person decides what it does.
    const isLost = once !== null && sent.has(once) && (await engine.list({ agent: spec.agent, cause: spec.cause, limit: 1 })).length === 0;
    const { tick = "" } = ((spec.cause.kind === "schedule" ? spec.cause.detail : null) ?? {}) as { tick?: string };
    // It was due before the folder was here: where that came from it may have been started.
    const elsewhere = spec.elsewhere === true || (once !== null && Date.parse(tick) < since());
    const started = await engine.start({ ...spec, doubted: spec.doubted === true || elsewhere || isLost, elsewhere }, also);
    if (once !== null) sent.keep(once);
    return started;
  };
  /** Queues a run of the agent at HEAD. @throws AGENT_UNKNOWN, SCRIPT_HEADER, RUN_INPUT, RUN_PAUSED */
  const start = async (agent: string, options: StartOptions, also?: Parameters<Engine["start"]>[1]) => {
    const pause = options.mode === "dry" ? null : paused(agent);
    if (pause !== null) throw new ClearedError("RUN_PAUSED", `${pauseWords(pause)}. Nothing was started.`);
    return begin(await toSpec(agent, options), also);
  };

  /** A run scheduled by a script: it starts later, with the rights of its own header. */
  const scheduleOf =
    (log: RunLog): Notices["schedule"] =>
    async ({ agent, at, input, key, by }, { live }) => {
      const cause: Cause = { kind: "schedule", key: `once ${key}`, detail: { by } };
      const spec = await toSpec(agent, { cause, input, notBefore: at, doubted: doubtIn(log) !== null });
      if (!live) return { run: "run_simulated", at, created: true };
      const { id, created } = await begin(spec);
      return { run: id, at: (await engine.get(id))?.notBefore ?? at, created };
    };

  const childOf = async (agent: string, key: string): Promise<RunRecord | undefined> =>
    (await engine.list({ agent, cause: { kind: "agent", key }, limit: 1 }))[0];

  /** Runs called by a run: one per step, with the rights of their own headers. */
  const childrenOf = (log: RunLog): Children => {
    // Steps whose child was judged as read-only: it stays so even if its file changes at this moment.
    const looking = new Set<string>();
    return {
      async readOnly(agent, key) {
        const { header } = await read(agent, { kind: "agent", key }, (await childOf(agent, key))?.pin.commit);
        if (header.mutates === false) looking.add(key);
        return header.mutates === false;
      },
      async run({ agent, input, key }) {
        // A started child continues, whatever has become of its file.
        const run = (await childOf(agent, key))?.id ?? (await startChild(log, agent, input, key, looking.has(key)));
        const { endedAt, status, outcome, result, error } = (await engine.get(run)) as RunRecord;
        if (endedAt !== null && log.run.mode === "live" && !(await engine.isProven(run))) log.ours = false;
        const said = error === null ? null : { code: error.code, message: error.message };
        return { run, ended: endedAt === null ? null : { status, outcome, result, error: said } };
      },
    };
  };

  const startChild = async (log: RunLog, agent: string, input: Json, key: string, looks: boolean): Promise<string> => {
    const parent = log.run;
    let depth = 1;
    for (let up: RunRecord | null = parent; up?.cause.kind === "agent"; up = up.parent === undefined ? null : await engine.get(up.parent))
      depth++;
    if (depth > DEEPEST)
      throw new ClearedError(
        "AGENT_DEPTH",
        `${parent.agent} would call ${agent} as the ${depth}th agent in a row; at most ${DEEPEST} call each other.`,
      );
    const given: Given = { ...handedOn(parent), ...(looks ? { readOnly: true } : {}) };
    // Also while paused: its caller waits as long as the pause lasts.
    const spec = await toSpec(agent, {
      cause: { kind: "agent", key, detail: fromRun(parent) },
      input,
      mode: parent.mode,
      parent: parent.id,
      doubted: doubtIn(log) !== null,
      ...(parent.by === undefined ? {} : { by: parent.by }),
      ...(Object.keys(given).length === 0 ? {} : { given }),
    });
    return (await begin(spec)).id;
  };

  return { start, scheduleOf, childrenOf };
}

/** What was given to a run applies to those it calls, and to those it starts later or by an event: its policy judges them, too. */
const handedOn = ({ given: { policy, readOnly } = {} }: RunRecord): Given => ({
  ...(policy === undefined ? {} : { policy }),
  ...(readOnly === true ? { readOnly } : {}),
});

/**
 * Which agent started a run, and who asked for that one, as shown on its cards (engine/process.ts). Of a longer chain only the first requester
 * is shown, or a run that keeps starting the next one would carry all earlier ones.
 */
const fromRun = (run: RunRecord) => {
  const before = (run.cause.detail as { from?: { first?: string } } | undefined)?.from;
  const first = before?.first ?? startedBy(run);
  const asked = before === undefined ? first : `other runs, the first of them by ${first}`;
  return { from: { agent: run.agent, asked, first, ...(couldBeAnybodys(run) ? { outside: true } : {}) } };
};

/** `name=value` of --input. */
export const IS_PAIR = /^[A-Za-z_][A-Za-z0-9_]*=/;

/** `cleared run NAME --input ...` with a valid input; without --input if the agent takes none. */
export function pasted(command: string, header: Header): string {
  const input = inputsOf(header, [])[0]?.input ?? {};
  const pairs = Object.entries(input as { [field: string]: Json });
  const flat = pairs.every(([name, value]) => IS_PAIR.test(`${name}=`) && (typeof value !== "object" || value === null));
  const shown = flat ? pairs.map(([name, value]) => `${name}=${String(value)}`) : [JSON.stringify(input)];
  return [command, ...shown.map((one) => `--input ${quoted(one)}`)].join(" ");
}

/** The script of `cleared exec`, which is in no commit: the cause carries its text, so that even such a run can be resumed or forked. */
export function execSource(cause: Cause): { file: string; text: string; lint: boolean } | null {
  // Only these two come from a file named by a person; any other cause may contain text from outside.
  if (cause.kind !== "exec" && cause.kind !== "fork") return null;
  const detail = cause.detail as { file?: string; text?: string; lint?: boolean } | undefined;
  if (detail?.text === undefined || detail.file === undefined) return null;
  return { file: detail.file, text: detail.text, lint: detail.lint !== false };
}
