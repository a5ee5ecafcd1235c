/** config.yaml and trust.yaml, read strictly: a setting without effect is worse than an error. Only trust.yaml grants authority. */
import { z } from "zod";
import { isDay } from "../../kernel/day.ts";
import { ladderSchema } from "../../rules/policy/levels.ts";
import type { Json } from "../../kernel/ports.ts";
import { privacySchema } from "../../rules/privacy/judge.ts";
import type { DiskCache } from "../../scripts/disk-cache.ts";
import { isTimezone } from "../../scripts/header.ts";
import { checkYaml, readYaml, type YamlSource } from "../../scripts/yaml-text.ts";
import { account, digits, flag, secret, size, text, wordsAt } from "./fields.ts";
import { CONFIG, TRUST } from "../layout.ts";
import { dialectSchemas } from "../statements/dialect.ts";
import { changeLimitsSchema, limitsSchema } from "./limits.ts";
import { variables } from "./variables.ts";
import { modelRolesSchema, modelServersSchema } from "./models.ts";
import { approvalsSchema, changesSchema, mailAddress, peopleSchema, pluginsSchema } from "./people.ts";

const setting: z.ZodType<Json> = z.lazy(() =>
  z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(setting), z.record(z.string(), setting)]),
);
const day = z.string({ error: "write a day as YYYY-MM-DD" }).refine(isDay, "write a calendar day as YYYY-MM-DD");
const zone = z
  .string({ error: "write a time zone such as America/New_York" })
  .refine(isTimezone, "no such time zone; write one such as America/New_York");
const minute = z
  .string({ error: 'write a time of day as text, such as "20:00"' })
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'write a time of day such as "20:00"');

// Schemas of settings that most workspaces do not have are lazy: making all of them took 15 ms of CPU in every process.
const statement = z.lazy(() =>
  z.strictObject({
    match: z
      .strictObject({
        file: text("a file name such as chase-*.csv"),
        content: z.string().regex(/^[0-9a-f]{12,64}$/, "write the beginning of the file's SHA-256, 12 digits at least, in quotation marks"),
        bank_account: digits("the bank's account number"),
        bank: digits("the bank's number and the account's kind, as an OFX file names them, or none"),
        dialect: text("the name of a dialect in importers/"),
        currency: z.string().regex(/^(?:[A-Z]{3}|any)$/, "write the statement's currency, such as EUR, or any"),
      })
      .partial()
      .refine((match) => Object.keys(match).length > 0, "name a file pattern, a bank_account, a bank, a dialect, or several of them"),
    account,
    dialect: dialectSchemas().Keys.shape.name.optional(),
    mapping: dialectSchemas().mapping.optional(),
  }),
);

const configSchema = z.strictObject({
  business: z.strictObject({ name: text("the business's name") }),
  branch: z
    .string()
    .regex(/^(?![-/.])(?!.*(?:\.\.|@\{|\/\/|\.lock$|[/.]$))[A-Za-z0-9._/-]{1,100}$/, "write the name of a git branch, such as main")
    .default("main")
    .describe("the branch that runs read from and commit to"),
  timezone: zone.default("UTC").describe("the time zone of days, schedules and month ends"),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, "write three capitals such as USD")
    .default("USD")
    .describe("the currency of amounts that name none"),
  closed_through: day.optional(),
  accounts: z
    .strictObject({
      opening: account.default("3010").describe("the account on the other side of an account's first balance"),
      suspense: account.default("3900").describe("the account where a rejected entry waits until somebody classifies it"),
    })
    .prefault({}),
  import: z
    .strictObject({
      settle_seconds: z
        .number({ error: "write a number of seconds" })
        .min(0)
        .max(3600, "at most 3600")
        .default(5)
        .describe("how many seconds a file in import/ must not have changed before it is read"),
    })
    .prefault({}),
  statements: z.array(statement, { error: "write a list of {match, account}" }).max(200).default([]),
  thresholds: z.record(z.string(), z.union([z.number(), z.string()], { error: "write a number, or an amount as text" })).default({}),
  settings: z.record(z.string(), setting).default({}),
  policy: ladderSchema.prefault({}),
  notify: z
    .strictObject({
      quiet_hours: z
        .strictObject({ from: minute, to: minute, timezone: zone.optional() })
        .refine(({ from, to }) => from !== to, "from and to are the same minute: that would be always")
        .optional(),
      default: text("page, smtp, or a webhook of trust.yaml").default("page"),
    })
    .prefault({}),
  privacy: privacySchema.default({}),
  models: modelRolesSchema.optional(),
  changes: changeLimitsSchema.prefault({}),
  // Histories are stored forever by default; those of runs that an entry or a case names are stored whatever is set.
  history: z
    .strictObject({ keep_days: size("a number of days", 30, 36_500).optional().describe("how many days what a run recorded is kept") })
    .prefault({}),
  callers: z
    .strictObject({
      open: size("a number of requests", 1, 400).default(200).describe("how many requests a caller over A2A or MCP may hold open"),
      message_kb: size("a number of kilobytes", 64, 16_384).default(256).describe("how many kilobytes a caller's message may have"),
      stored_mb: size("a number of megabytes", 1, 1_000_000).default(1024).describe("how many megabytes a caller's tasks may take up here"),
      keep_days: size("a number of days", 1, 36_500).default(90).describe("how many days a caller can ask for a task that has ended"),
    })
    .prefault({}),
  web: z.strictObject({ port: size("a port", 0, 65535).default(4310).describe("the port of the status page") }).prefault({}),
});

/** What a dotted key of config.yaml is for; "" where its schema does not say. */
export const settingWords = (key: string): string => wordsAt(configSchema, key);

/** config.yaml with every default filled in; accounts are text. `raw` is the file as written, for config_get. */
export interface Config extends z.output<typeof configSchema> {
  raw: Json;
}

const named = (what: string) =>
  z.string().regex(/^(?!given$)[a-z][a-z0-9_-]{0,39}$/i, `write ${what}: letters, digits, - and _, but not "given"`);
const url = z
  .string()
  .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? "") && !value.includes("@"), "write an http(s) address");
const open = z
  .string()
  .max(4096)
  .refine((value) => !value.includes("secret:"), "secrets go into env, headers or oauth only");
const toolSettings = z.lazy(() =>
  z.strictObject({
    class: z.enum(["read", "compute", "mutate"]).optional(),
    idempotency_key: text("the parameter the tool deduplicates by").optional(),
    verify: z
      .strictObject({
        read: text("the tool that reads the record back"),
        key: z.record(z.string(), z.string()).optional(),
        expect: z.record(z.string(), setting).optional(),
        before: z.union([z.literal("different"), z.record(z.string(), setting)]).optional(),
        ignore: z.array(text("a parameter")).optional(),
      })
      .optional(),
    undo: z.strictObject({ agent: text("the agent that takes it back"), input: z.record(z.string(), z.json()) }).optional(),
  }),
);

// Exactly one way to reach it: a command (stdio), a url (streamable HTTP), or the seeds' plain HTTP endpoint.
const toolServer = z.lazy(() =>
  z
    .strictObject({
      command: open.optional(),
      args: z.array(open).max(100).default([]),
      env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "write the name of a variable"), z.string()).default({}),
      url: url.and(open).optional(),
      plain: url.and(open).optional(),
      headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/, "write the name of a header"), z.string()).default({}),
      oauth: z
        .strictObject({
          client_id: text("the client's id"),
          client_secret: text("secret:NAME"),
          scope: text("scopes").optional(),
          issuer: url.optional(),
          token_url: url.optional(),
        })
        .optional(),
      trusted: flag().default(false),
      writes: z.array(text("a folder")).max(20).default([]),
      timeout_ms: size("milliseconds", 100, 600_000).default(() => variables().toolTimeoutMs),
      concurrency: size("a number of calls", 1, 64).default(4),
      tools: z.record(z.string(), toolSettings).default({}),
      aliases: z.record(z.string(), z.array(text("the name of a tool"))).default({}),
    })
    .refine(
      ({ command, url, plain }) => [command, url, plain].filter((one) => one !== undefined).length === 1,
      "write one of command, url and plain",
    )
    .refine(
      ({ command, trusted, writes }) => writes.length === 0 || (command !== undefined && !trusted),
      "writes is for a command that is not trusted",
    )
    .refine(({ oauth, url }) => oauth === undefined || url !== undefined, "oauth needs a url"),
);

// Where notices go. A mail server on another machine must offer TLS.
const noticeChannels = z.lazy(() =>
  z.strictObject({
    smtp: z
      .strictObject({
        host: text("the mail server's name"),
        port: size("a port", 1, 65535).default(587),
        user: text("the account at the mail server").optional(),
        password: secret().optional(),
        from: mailAddress,
      })
      .refine(({ user, password }) => (user === undefined) === (password === undefined), "write user and password, or neither")
      .optional(),
    webhooks: z
      .record(
        named("a channel's name"),
        z.strictObject({
          url: url.refine(
            (value) => /^https:|^http:\/\/(?:localhost|127\.[\d.]+|\[::1\])[:/]/.test(`${value}/`),
            "write https; http only to this machine",
          ),
          secret: secret(),
        }),
      )
      .refine((names) => !("smtp" in names) && !("page" in names), "smtp and page are names of their own; choose another")
      .default({}),
  }),
);

const trustSchema = z.strictObject({
  changes: changesSchema.prefault({}),
  notices: noticeChannels.default({ webhooks: {} }),
  webhooks: z.record(named("a webhook's name"), z.strictObject({ secret: secret() })).default({}),
  anonymous: z.array(text("the name of an agent")).max(100).default([]),
  mcp: z.record(named("a server's name"), toolServer).default({}),
  a2a: z
    .record(
      named("an agent's name"),
      z.lazy(() => {
        const kind = z.enum(["read", "mutate"], { error: "write read or mutate" });
        return z.strictObject({
          url,
          token: secret().optional(),
          class: kind.default("mutate"),
          skills: z.record(z.string(), kind).default({}),
          idempotent: flag().default(false),
          timeout_ms: size("milliseconds", 1000, 604_800_000).default(3_600_000),
        });
      }),
    )
    .default({}),
  addresses: z
    .lazy(() =>
      z.strictObject({
        allow: z
          .array(
            z
              .string()
              .regex(
                /^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*$|^[0-9a-f.:]+\/\d{1,3}$/i,
                "write a host such as api.example.com, or a range such as 10.0.0.0/8",
              ),
          )
          .max(200)
          .default([]),
        loopback: flag().default(false),
      }),
    )
    .default({ allow: [], loopback: false }),
  plugins: pluginsSchema.default([]),
  people: peopleSchema.default([]),
  approvals: approvalsSchema.prefault({}),
  limits: limitsSchema,
  models: modelServersSchema.default({}),
  sandbox: z.strictObject({ slots: size("a number of slots", 1, 16).default(2), jit: flag().default(false) }).prefault({}),
});

export type Trust = z.output<typeof trustSchema>;
/** Where notices go: the mail server and webhooks. */
export type NoticeChannels = Trust["notices"];
/** One entry of `mcp:`; values may name secrets as `secret:NAME`. */
export type ToolServer = z.output<typeof toolServer>;
/** Addresses that a run may use: hosts and ranges, and whether this machine itself is allowed. */
export type AddressRules = Trust["addresses"];
export type StatementRule = Config["statements"][number];
const CONFIG_SOURCE: YamlSource = { file: CONFIG, code: "CONFIG_INVALID", maxLength: 262_144 };
const TRUST_SOURCE: YamlSource = { ...CONFIG_SOURCE, file: TRUST };

/** @throws CONFIG_INVALID at file:line */
export function parseConfig(source: string, cache?: DiskCache): Config {
  const yaml = readYaml(source, { ...CONFIG_SOURCE, cache });
  return { ...checkYaml(yaml, configSchema, CONFIG_SOURCE), raw: (yaml.value ?? {}) as Json };
}

/** trust.yaml checked, and its value as written, for `trustOf` to check later. Never read from a cache. @throws CONFIG_INVALID at file:line */
export function readTrust(source: string): { trust: Trust; value: Json } {
  const yaml = readYaml(source, TRUST_SOURCE);
  return { trust: checkYaml(yaml, trustSchema, TRUST_SOURCE), value: (yaml.value ?? {}) as Json };
}
export const parseTrust = (source: string): Trust => readTrust(source).trust;
/** `{}` gives the defaults: no code, no people, no addresses. @throws CONFIG_INVALID */
export const trustOf = (value: Json): Trust => checkYaml({ value, at: () => ({ file: TRUST }) }, trustSchema, TRUST_SOURCE);

/** Value of a dotted key (`thresholds.auto_confirm`, `statements.0.account`), or undefined. */
export function configValue(raw: Json, key: string): Json | undefined {
  let found: Json | undefined = raw;
  for (const part of key.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, part)) return undefined;
    found = Array.isArray(found) ? found[Number(part)] : found[part];
  }
  return found;
}

/** All dotted keys, of groups and of values, in the order of the file. */
export function configKeys(raw: Json, prefix = ""): string[] {
  if (typeof raw !== "object" || raw === null) return [];
  return Object.entries(raw).flatMap(([key, value]) => [`${prefix}${key}`, ...configKeys(value, `${prefix}${key}.`)]);
}
