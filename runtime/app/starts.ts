/** What a run starts from: the agent at HEAD, its header, its checked input. One place for commands, triggers, schedules and calling agents. */
import { type Pause, pauseWords } from "../engine/store/pauses.ts";
import { startedBy } from "../engine/process.ts";
import { ClearedError, didYouMean, toWire } from "../kernel/errors.ts";
import type { Cause, Children, Engine, Git, Given, Json, Notices, RunMode, RunRecord, RunSpec, Tree } from "../kernel/ports.ts";
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
import { quoted } from "../kernel/text.ts";

/** How many agents may call each other in a row. */
const DEEPEST = 8;

export interface StartOptions {
  cause: Cause;
  input: Json;
  mode?: RunMode;
  /** Not before this time, ms. */
  notBefore?: number;
  given?: Given;
  /** The person of trust.yaml whose key the caller holds. */
  by?: string;
  /** The run that calls this one as its child. */
  parent?: string;
}

/** A task in words that only asks a question gets a run that may only look; "do not change anything" is read, too. */
function onlyAsks(input: Json): boolean {
  const task = (input as { task?: Json } | null)?.task;
  return typeof task === "string" && complexityOf(task) === "readonly";
}

/**
 * The input of a business process as it may be kept: secrets, card numbers and numbers of people are hidden, and a task that asks for
 * secrets to be given away, or was declared (`data_class`) to hold what is not handled, is refused. No word in the text changes that.
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

/** The input as the header takes it. @throws RUN_INPUT with an example that can be pasted */
function inputFor(header: Header, input: Json, command: string): Json {
  try {
    return validateInput(header, input);
  } catch (error) {
    const { code, message } = toWire(error);
    if (code !== "RUN_INPUT") throw error;
    throw new ClearedError(code, `${message} For example: \`${pasted(`cleared ${command}`, header)}\`.`, { cause: error });
  }
}

export type Starts = ReturnType<typeof createStarts>;

export function createStarts(world: {
  git: Git;
  engine: Engine;
  agents: () => Promise<AgentAtHead[]>;
  config(tree: Tree): Promise<Pick<Config, "privacy">>;
  cache: DiskCache;
  paused(agent: string): Pause | null;
}) {
  const { git, engine, agents, config, cache, paused } = world;
  // Those who start in the same moment ask once; the question leaves after the last of them has come.
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
      throw new ClearedError(
        "AGENT_UNKNOWN",
        `There is no agent "${agent}" in ${commit.slice(0, 7)}.${didYouMean(agent, names)} There are: ${names.join(", ") || "none"}.`,
      );
    }
    const blob = source === null ? ((await tree.blob(file)) ?? "") : sourceBlob(text);
    return { commit, blob, header: headers.of(`${file}\n${text}`, () => parseHeader(text, file, cache)) };
  };
  /** The run behind an event or a run for later: who started it is their requester too, or a detour would lift the bar on approving it. */
  const behind = async ({ kind, detail }: Cause): Promise<RunRecord | null> => {
    const { run, by } = (detail ?? {}) as { run?: Json; by?: Json };
    const id = kind === "event" ? run : kind === "schedule" ? by : undefined;
    return typeof id === "string" ? engine.get(id) : null;
  };
  const toSpec = async (agent: string, { cause, input, mode = "live", ...more }: StartOptions): Promise<RunSpec> => {
    const { commit, blob, header } = await read(agent, cause);
    const admitted = header.process === undefined ? input : guarded(agent, input, (await config(git.tree(commit))).privacy);
    const checked = inputFor(header, admitted, execSource(cause) === null ? `run ${agent}` : `exec ${execSource(cause)?.file}`);
    const origin = await behind(cause);
    const handed = origin === null ? more.given : handedOn(origin);
    const given = header.process !== undefined && onlyAsks(checked) ? { ...handed, readOnly: true } : handed;
    const by = more.by ?? origin?.by;
    const told = { ...(by === undefined ? {} : { by }), ...(given === undefined ? {} : { given }) };
    const known = origin === null ? cause : { ...cause, detail: { ...(cause.detail as object), ...fromRun(origin) } };
    return { agent, pin: { commit, blob, api: API }, input: checked, cause: known, mode, ...more, ...told };
  };
  /** Queue a run of the agent at HEAD. @throws AGENT_UNKNOWN, SCRIPT_HEADER, RUN_INPUT, RUN_PAUSED */
  const start = async (agent: string, options: StartOptions, also?: Parameters<Engine["start"]>[1]) => {
    const pause = options.mode === "dry" ? null : paused(agent);
    if (pause !== null) throw new ClearedError("RUN_PAUSED", `${pauseWords(pause)}. Nothing was started.`);
    return engine.start(await toSpec(agent, options), also);
  };

  /** A run that a script asked for: it starts by itself, later, with the rights of its own header. */
  const schedule: Notices["schedule"] = async ({ agent, at, input, key, by }, { live }) => {
    const spec = await toSpec(agent, { cause: { kind: "schedule", key: `once ${key}`, detail: { by } }, input, notBefore: at });
    if (!live) return { run: "run_simulated", at, created: true };
    const { id, created } = await engine.start(spec);
    return { run: id, at: (await engine.get(id))?.notBefore ?? at, created };
  };

  const childOf = async (agent: string, key: string): Promise<RunRecord | undefined> =>
    (await engine.list({ agent, cause: { kind: "agent", key }, limit: 1 }))[0];

  /** Runs that a run calls: once for each of its steps, with the rights of their own headers. */
  const childrenOf = (parent: RunRecord): Children => {
    // Steps whose child was judged to only read: it is held to that, should its file change in the same moment.
    const looking = new Set<string>();
    return {
      async readOnly(agent, key) {
        const { header } = await read(agent, { kind: "agent", key }, (await childOf(agent, key))?.pin.commit);
        if (header.mutates === false) looking.add(key);
        return header.mutates === false;
      },
      async run({ agent, input, key }) {
        // One that has started goes on, whatever has become of its file since.
        const run = (await childOf(agent, key))?.id ?? (await startChild(parent, agent, input, key, looking.has(key)));
        const { endedAt, status, outcome, result, error } = (await engine.get(run)) as RunRecord;
        const said = error === null ? null : { code: error.code, message: error.message };
        return { run, ended: endedAt === null ? null : { status, outcome, result, error: said } };
      },
    };
  };

  const startChild = async (parent: RunRecord, agent: string, input: Json, key: string, looks: boolean): Promise<string> => {
    let depth = 1;
    for (let up: RunRecord | null = parent; up?.cause.kind === "agent"; up = up.parent === undefined ? null : await engine.get(up.parent))
      depth++;
    if (depth > DEEPEST)
      throw new ClearedError(
        "AGENT_DEPTH",
        `${parent.agent} would call ${agent} as the ${depth}th agent in a row; at most ${DEEPEST} call each other.`,
      );
    const given: Given = { ...handedOn(parent), ...(looks ? { readOnly: true } : {}) };
    // Paused or not: its caller waits for it as long as the pause lasts.
    const spec = await toSpec(agent, {
      cause: { kind: "agent", key, detail: fromRun(parent) },
      input,
      mode: parent.mode,
      parent: parent.id,
      ...(parent.by === undefined ? {} : { by: parent.by }),
      ...(Object.keys(given).length === 0 ? {} : { given }),
    });
    return (await engine.start(spec)).id;
  };

  return { start, schedule, childrenOf };
}

/** What a run was given holds for those it calls, and for those it starts later or by an event: they are judged by its policy, too. */
const handedOn = ({ given: { policy, readOnly } = {} }: RunRecord): Given => ({
  ...(policy === undefined ? {} : { policy }),
  ...(readOnly === true ? { readOnly } : {}),
});

/**
 * Which agent gave a run to be done, and who asked that one: what its cards tell (engine/process.ts). Of longer chains the first that asked is
 * told and not all between, or a run that starts its next one would carry every run before it.
 */
const fromRun = (run: RunRecord) => {
  const before = (run.cause.detail as { from?: { first?: string } } | undefined)?.from;
  const first = before?.first ?? startedBy(run);
  return { from: { agent: run.agent, asked: before === undefined ? first : `other runs, the first of them by ${first}`, first } };
};

/** `name=value` of --input. */
export const IS_PAIR = /^[A-Za-z_][A-Za-z0-9_]*=/;

/** `cleared run NAME --input ...` with an input that the header takes; without --input where it takes none. */
export function pasted(command: string, header: Header): string {
  const input = inputsOf(header, [])[0]?.input ?? {};
  const pairs = Object.entries(input as { [field: string]: Json });
  const flat = pairs.every(([name, value]) => IS_PAIR.test(`${name}=`) && (typeof value !== "object" || value === null));
  const shown = flat ? pairs.map(([name, value]) => `${name}=${String(value)}`) : [JSON.stringify(input)];
  return [command, ...shown.map((one) => `--input ${quoted(one)}`)].join(" ");
}

/** A script that is in no commit: `cleared exec` carries its text in the cause, so that even such a run can be resumed or forked. */
export function execSource(cause: Cause): { file: string; text: string; lint: boolean } | null {
  // Only these two are made from a file a person named; any other cause may carry words from outside.
  if (cause.kind !== "exec" && cause.kind !== "fork") return null;
  const detail = cause.detail as { file?: string; text?: string; lint?: boolean } | undefined;
  if (detail?.text === undefined || detail.file === undefined) return null;
  return { file: detail.file, text: detail.text, lint: detail.lint !== false };
}
