/**
 * Models in the settings. trust.yaml `models:` has hosts, keys and what may be sent to each: authority. config.yaml `models:` assigns models
 * to roles and sets budgets: behavior, changed by a proposal like any other.
 */
import { z } from "zod";
import { GROUPS, type Group } from "../../rules/privacy/patterns.ts";
import { HIDDEN } from "../../rules/privacy/scan.ts";
import { flag, secret } from "./fields.ts";

/** Groups of data that may be sent to a model; keys, card numbers and identity numbers never may. */
const SENDABLE = GROUPS.filter((group) => !HIDDEN.has(group)) as [Group, ...Group[]];

// Made only when a workspace has models: most have none, and making the schema costs every process.
const server = () => {
  const key = secret();
  const https = /^https:|^http:\/\/(?:localhost|127\.[\d.]+|\[::1\])[:/]/;
  const url = z
    .string({ error: "write an address such as http://127.0.0.1:11434/v1" })
    .refine((value) => URL.canParse(value) && !value.includes("@"), "write an http(s) address without a user")
    .refine((value) => https.test(`${value}/`), "write https; http only to this machine: what is sent is the business's own data");

  const sends = z
    .array(z.enum(SENDABLE, { error: `write groups of data: ${SENDABLE.join(", ")}; secrets, cards and identity numbers are never sent` }))
    .default([]);
  const timeout_ms = z.int({ error: "write milliseconds" }).min(100).max(1_800_000).default(120_000);

  return z.discriminatedUnion(
    "backend",
    [
      z.strictObject({ backend: z.literal("anthropic"), url: url.default("https://api.anthropic.com"), key, sends, timeout_ms }),
      z.strictObject({
        backend: z.literal("openai"),
        url: url.default("https://api.openai.com/v1"),
        key: key.optional(),
        sends,
        timeout_ms,
      }),
      z.strictObject({
        backend: z.literal("scripted"),
        file: z.string({ error: "write a file of the workspace" }).regex(/^(?!.*\.\.)[\w][\w./-]{0,199}$/, "write a file of the workspace"),
      }),
    ],
    { error: "write backend: anthropic, openai (all that speak chat completions) or scripted" },
  );
};

/** trust.yaml `models:` by name. */
export const modelServersSchema = z.lazy(() =>
  z.record(z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/, "write a name: small letters, digits, - and _"), server()),
);
export type ModelServer = z.output<ReturnType<typeof server>>;

const amounts = () => {
  const usd = z
    .string({ error: 'write US dollars as text, such as "0.50"' })
    .regex(/^\d{1,6}(?:\.\d{1,6})?$/, 'write US dollars as text, such as "0.50"');
  const tokens = z.int({ error: "write a number of tokens" }).min(1000, "at least 1000").max(1_000_000_000);
  const price = z.strictObject({
    from: z.iso.date("write the day from which it holds"),
    above: z.int().min(0).default(0).describe("tokens of the prompt from which this row holds"),
    input: usd,
    output: usd,
    cache_read: usd.optional(),
    cache_write: usd.optional(),
  });
  const facts = z.strictObject({
    context: tokens.default(32_768),
    max_output: tokens.default(4096),
    json: flag().default(true),
    tools: flag().default(true),
    forced_tools: flag().default(false),
    effort: flag().default(false),
    prices: z.array(price).default([]),
  });
  return { usd, tokens, facts };
};

/** Known facts of a model. Prices are in US dollars per million tokens, oldest first. */
export type ModelFacts = z.output<ReturnType<typeof amounts>["facts"]>;
export type Price = ModelFacts["prices"][number];

const roles = () => {
  const { usd, tokens, facts } = amounts();
  const model = z
    .string({ error: "write a model such as claude-haiku-5-5 or ollama/qwen3:1.7b" })
    .regex(/^[\w][\w.:/@-]{0,199}$/, "write a model such as claude-haiku-5-5 or ollama/qwen3:1.7b")
    .optional();
  const limit = (money: string, count: number) => z.strictObject({ usd: usd.default(money), tokens: tokens.default(count) });
  const minutes = z.int({ error: "write a number of minutes" }).min(1).max(240).default(5);
  return z.strictObject({
    small: model,
    large: model,
    judge: model,
    budgets: z
      .strictObject({
        run: limit("0.50", 500_000).prefault({}),
        agent_day: limit("5.00", 5_000_000).prefault({}),
        proposal: limit("1.00", 2_000_000).extend({ minutes }).prefault({}),
      })
      .prefault({}),
    catalogue: z.record(z.string(), facts).default({}),
  });
};

export const modelRolesSchema = z.lazy(roles);
export type ModelRoles = z.output<ReturnType<typeof roles>>;
/** `models:` of config.yaml, or the defaults where it has none. */
export const modelRolesOf = (config: { models?: ModelRoles | undefined }): ModelRoles =>
  config.models ?? (defaults ??= modelRolesSchema.parse({}));
let defaults: ModelRoles | null = null;
