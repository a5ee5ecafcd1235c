/**
 * The model port of a workspace: which model, what may leave this machine, what it may cost, how often a request is repeated, and whether the
 * answer is valid. Invariant: a request leaves only after its worst case is stored, and only through outgoing.ts.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { ClearedError, type Code } from "../kernel/errors.ts";
import type { Clock, Json, Llm, LlmAnswer, LlmMessage, LlmRequest, LlmRole, LlmUsage } from "../kernel/ports.ts";
import { jsonOf, textIn } from "../kernel/text.ts";
import { Kept } from "../kernel/kept.ts";
import type { Fetch } from "../outside/mcp/addresses.ts";
import { dayIn } from "../scripts/header.ts";
import type { Config, Trust } from "../workspace/settings/config.ts";
import { modelRolesOf } from "../workspace/settings/models.ts";
import { openSecrets } from "../workspace/settings/secrets.ts";
import { SECRETS } from "../workspace/layout.ts";
import { type Backend, Fault, type FaultKind, type Got, type Sent } from "./backend.ts";
import { costOf, factsOf, mostTokens, usdOf, worstCost } from "./catalogue.ts";
import { type Ledger, NO_USAGE, type Tight } from "./costs.ts";
import { outgoing } from "./outgoing.ts";
import { type Resolved, type Setup, modelOf, setupOf } from "./resolve.ts";

export interface ModelsOptions {
  dir: string;
  trust: Trust;
  clock: Clock;
  ledger: Ledger;
  /** Abilities that `models test` found missing in a model: json, tools. */
  cannot?(model: string): readonly string[];
  fetch: Fetch;
  env?: NodeJS.ProcessEnv;
  /** @throws TRUST_CHANGED, OWNER_FENCED if nothing may leave this process any more */
  leaving(): void;
}

export type Models = ReturnType<typeof createModels>;

const CODE: Record<FaultKind, Code> = {
  limited: "LLM_LIMITED",
  busy: "LLM_DOWN",
  down: "LLM_DOWN",
  lost: "LLM_LOST",
  refused: "LLM_REFUSED",
  answer: "LLM_ANSWER",
};
/** Attempts in total, by kind. A lost answer may have been billed, so its request is repeated only once. */
const ATTEMPTS: Record<FaultKind, number> = { limited: 4, busy: 4, down: 3, lost: 2, refused: 1, answer: 1 };
const FIRST_WAIT_MS = 400;
// A call does not wait longer than this; the error says when to try again.
const LONGEST_WAIT_MS = 30_000;
const REPAIRS = 2;
/** The spender for costs of `models test`. */
export const PROBER = "models test";
// Room for names of tools and roles, and for what a protocol adds to a message.
const AROUND = 300;

export function createModels({ dir, trust, clock, ledger, fetch, cannot = () => [], env = process.env, leaving }: ModelsOptions) {
  // Making one takes half a millisecond, and a script asks the same question for each row.
  const checks = new Kept<string, z.ZodType>(100);
  const backends = new Map<string, Promise<Backend>>();
  const stored = secretsOf(dir);
  const setup = async (config: Config): Promise<Setup> => setupOf(trust.models, modelRolesOf(config), [...(await stored()).keys()], env);

  const backendOf = async ({ entry }: Resolved): Promise<Backend> => {
    const { server, key: given } = entry;
    if (server.backend === "scripted") return (await import("./scripted.ts")).createScripted(join(dir, server.file), server.file);
    const key = given === null ? null : "value" in given ? given.value : ((await stored()).get(given.secret) ?? null);
    if (key === null && given !== null && "secret" in given)
      throw new ClearedError(
        "SECRET_MISSING",
        `There is no secret "${given.secret}". Store it with \`cleared secrets set ${given.secret}\`.`,
      );
    const door = { url: server.url, key, fetch };
    const name = `${entry.name}\n${server.url}\n${key}`;
    return backends.getOrInsertComputed(name, () =>
      server.backend === "anthropic"
        ? import("./anthropic.ts").then((one) => one.createAnthropic(door))
        : import("./openai.ts").then((one) => one.createOpenai(door)),
    );
  };

  /** `note`: called with what a reader of the run should know. */
  const llm = (config: Config, note: (message: string) => void = () => undefined): Llm => {
    const day = () => dayIn(config.timezone, clock.now());
    const { budgets } = modelRolesOf(config);

    /** The role's model; for a new conversation the small one, once a budget is nearly used up. */
    const choose = (of: Setup, request: LlmRequest): { chosen: Resolved; lowered: LlmRole | null } => {
      const asked = request.model === undefined ? { role: request.role ?? "small" } : { model: request.model };
      const chosen = modelOf(of, asked);
      const loop = request.messages.some(({ role }) => role === "assistant");
      if (!("role" in asked) || asked.role === "small" || loop) return { chosen, lowered: null };
      const tight = ledger.nearlySpent(request.spender, budgets, day());
      if (tight === null) return { chosen, lowered: null };
      const small = modelOf(of, { role: "small" });
      note(`${tight.used} of ${tight.limit} for ${tight.what} are spent: ${small.name} is asked instead of ${chosen.name}.`);
      return { chosen: small, lowered: asked.role };
    };

    /** A request with its repetitions. @throws LLM_* */
    const ask = async (
      at: Resolved,
      sent: Omit<Sent, "signal">,
      request: LlmRequest,
    ): Promise<Got & { attempts: number; pico: bigint | null }> => {
      const backend = await backendOf(at);
      const { server } = at.entry;
      const text = JSON.stringify([sent.system, sent.messages, sent.tools, sent.schema]);
      const most = { input: mostTokens(text) + AROUND, output: sent.max_tokens };
      let pico: bigint | null = 0n;
      for (let attempts = 1; ; attempts++) {
        const worst = { tokens: most.input + most.output, cost: worstCost(sent.facts, most, day()) };
        const id = ledger.reserve(at.name, request.role ?? null, request.spender, worst, budgets, day());
        if (typeof id !== "number") throw overBudget(id, worst.cost);
        const settle = (usage: LlmUsage | null, cost: bigint | null, stop: string) => {
          ledger.settle(id, usage, cost, stop);
          if (usage !== null) pico = pico === null || cost === null ? null : pico + cost;
        };
        const patience = "timeout_ms" in server ? AbortSignal.timeout(server.timeout_ms) : null;
        const signal = patience === null ? request.abort : AbortSignal.any([request.abort, patience]);
        try {
          leaving();
        } catch (error) {
          settle(null, 0n, "unsent");
          throw error;
        }
        try {
          const got = await backend.send({ ...sent, signal });
          // A server that counts no tokens has still computed: the reservation stays.
          const counted = got.usage.input + got.usage.output > 0;
          if (counted) settle(got.usage, costOf(sent.facts, got.usage, day()), got.stop);
          else settle({ ...most, cache_read: 0, cache_write: 0 }, worst.cost, got.stop);
          if (!isModel(sent.id, got.model))
            throw new Fault("answer", `it answers as ${JSON.stringify(got.model.slice(0, 100))}; asked was ${sent.id}`);
          return { ...got, attempts, pico };
        } catch (error) {
          // If the store cannot record the cost, the reservation stays.
          if (!(error instanceof Fault)) throw error;
          if (!error.billed && error.kind !== "answer") settle(null, 0n, error.kind);
          else if (error.billed) pico = pico === null || worst.cost === null ? null : pico + worst.cost;
          const wait = error.after ?? FIRST_WAIT_MS * 2 ** (attempts - 1);
          if (request.abort.aborted || attempts >= ATTEMPTS[error.kind] || wait > LONGEST_WAIT_MS) throw cleared(error, at, attempts);
          await sleep(wait, undefined, { signal: request.abort }).catch(() => {
            throw cleared(error, at, attempts);
          });
        }
      }
    };

    return {
      modelOf: async (asked) => modelOf(await setup(config), asked).name,
      async generate(request) {
        const { chosen, lowered } = choose(await setup(config), request);
        const known = factsOf(chosen.id, modelRolesOf(config));
        // The test itself tries again what it found before.
        const found = request.spender.agent === PROBER ? [] : cannot(chosen.name);
        const facts = { ...known, json: known.json && !found.includes("json"), tools: known.tools && !found.includes("tools") };
        const { server } = chosen.entry;
        const sends = "sends" in server ? server.sends : [];
        const { schema, ...clean } = outgoing(request, sends, [...(await stored()).values()]);
        if (clean.tools.length > 0 && !facts.tools)
          throw new ClearedError(
            "LLM_UNCONFIGURED",
            `${chosen.name} cannot call tools. Give the role ${request.role ?? ""} a model that can in config.yaml.`,
          );
        const told = schema !== null && (!facts.json || server.backend !== "anthropic" || clean.tools.length > 0);
        const system = told
          ? `${clean.system}\n\nAnswer with one JSON value of this schema and nothing else:\n${JSON.stringify(schema)}`
          : clean.system;
        const held = schema !== null && facts.json && clean.tools.length === 0;
        const max_tokens = Math.min(request.max_tokens, facts.max_output);
        const sent: Omit<Sent, "signal"> = {
          ...clean,
          ...{ id: chosen.id, facts, system, max_tokens, onText: request.onText ?? null },
          ...{
            schema: held ? (schema as Record<string, unknown>) : null,
            must_call: request.must_call === true,
            brief: request.brief === true,
          },
        };
        const answer: LlmAnswer = { content: [], stop: "end", usage: NO_USAGE, model: chosen.name, attempts: 0, cost: "0.00" };
        if (lowered !== null) answer.lowered = lowered;
        const check = schema === null ? null : checks.of(JSON.stringify(schema), () => z.fromJSONSchema(schema as never));
        let pico: bigint | null = 0n;
        for (let repairs = 0; ; repairs++) {
          // Local servers truncate silently what is too long.
          if (JSON.stringify(sent.messages).length / 3.5 + system.length / 3.5 + max_tokens > facts.context)
            return { ...answer, stop: "context_exceeded" };
          const got = await ask(chosen, sent, request);
          pico = pico === null || got.pico === null ? null : pico + got.pico;
          Object.assign(answer, {
            content: got.content,
            stop: got.stop,
            usage: added(answer.usage, got.usage),
            attempts: answer.attempts + got.attempts,
            cost: pico === null ? null : usdOf(pico),
          });
          if (check === null || got.stop !== "end") return answer;
          const [value, wrong] = valueIn(got, check);
          if (wrong === null) return { ...answer, value };
          if (repairs === REPAIRS)
            throw new ClearedError("LLM_ANSWER", `${chosen.name} did not answer as asked, ${REPAIRS + 1} times: ${wrong}.`);
          const said: LlmMessage[] = [
            { role: "assistant", content: got.content },
            { role: "user", content: `That is not what was asked for: ${wrong}. Answer again, with nothing but the JSON value.` },
          ];
          sent.messages = [...sent.messages, ...(got.content.length === 0 ? said.slice(1) : said)];
        }
      },
    };
  };
  return { setup, llm };
}

/** Secrets by name, read again only if the file has changed: opening it takes milliseconds of CPU. */
function secretsOf(dir: string): () => Promise<Map<string, string>> {
  let kept: { stamp: string; values: Promise<Map<string, string>> } | null = null;
  return () => {
    const file = statSync(join(dir, SECRETS), { bigint: true, throwIfNoEntry: false });
    const stamp = file === undefined ? "" : `${file.ino} ${file.size} ${file.ctimeNs}`;
    if (kept?.stamp !== stamp) {
      const values = stamp === "" ? Promise.resolve(new Map<string, string>()) : openSecrets(dir).all();
      kept = { stamp, values };
      values.catch(() => (kept = null));
    }
    return kept.values;
  };
}

/** The JSON value of an answer, and what is wrong with it in words. */
function valueIn({ content }: Got, check: z.ZodType): [Json, string | null] {
  const text = textIn(content).trim();
  const bare = /^```(?:json)?\s*([\s\S]*?)\s*```$/.exec(text)?.[1] ?? text;
  const value = jsonOf(bare);
  if (value === undefined) return [null, text === "" ? "it is empty" : "it is not JSON"];
  const checked = check.safeParse(value);
  return checked.success ? [value, null] : [null, z.prettifyError(checked.error).replace(/\s+/g, " ").slice(0, 300)];
}

/** A server may answer with the dated name of an alias, or with a file path before the name. */
function isModel(asked: string, got: string): boolean {
  const [a = "", b = ""] = [asked, got].map((one) =>
    one
      .toLowerCase()
      .replace(/:latest$/, "")
      .split("/")
      .at(-1),
  );
  return a === b || b.replace(/-(?:\d{8}|\d{4}-\d\d-\d\d)$/, "") === a;
}

const added = (a: LlmUsage, b: LlmUsage): LlmUsage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cache_read: a.cache_read + b.cache_read,
  cache_write: a.cache_write + b.cache_write,
});

function cleared(fault: Fault, { name, entry }: Resolved, attempts: number): ClearedError {
  const where = "url" in entry.server ? ` at ${new URL(entry.server.url).host}` : "";
  const times = attempts === 1 ? "" : ` (asked ${attempts} times)`;
  const wait = fault.kind === "limited" && fault.after !== null ? ` It takes requests again in ${Math.ceil(fault.after / 1000)} s.` : "";
  return new ClearedError(CODE[fault.kind], `${name}${where}: ${fault.message.replace(/\.$/, "")}${times}.${wait}`, {
    data: { model: name, attempts },
  });
}

function overBudget({ what, limit, used }: Tight, cost: bigint | null): ClearedError {
  const next = cost === null ? "this call no longer fits" : `this call may cost up to ${usdOf(cost)} USD`;
  return new ClearedError(
    "LLM_BUDGET",
    `The budget for ${what} is ${limit}; ${used} are spent or under way, and ${next}. \`cleared costs\` shows them; models.budgets in config.yaml sets it.`,
  );
}
