/**
 * Which model a name means, and where each setting comes from: roles of config.yaml, servers of trust.yaml, a stored secret, the environment.
 * A name never introduces a host: only servers in trust.yaml are contacted, and Anthropic's own with a key that the user has given.
 */
import { ClearedError, didYouMean } from "../kernel/errors.ts";
import type { LlmRole } from "../kernel/ports.ts";
import type { ModelRoles, ModelServer } from "../workspace/settings/models.ts";

/** `origin`: its source, for `doctor` and messages. */
export type Entry = { name: string; origin: string; server: ModelServer; key: { value: string } | { secret: string } | null };

export interface Setup {
  entries: Entry[];
  roles: ModelRoles;
  fallback: string | null;
  /** Variables of the environment that were not used, in sentences. */
  ignored: string[];
}

export interface Resolved {
  entry: Entry;
  /** The server's id for it. */
  id: string;
  /** `ENTRY/ID` */
  name: string;
  origin: string;
}

const ANTHROPIC = "https://api.anthropic.com";
const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[::1\])$/;

/** @param secrets names of the stored secrets */
export function setupOf(
  servers: Record<string, ModelServer>,
  roles: ModelRoles,
  secrets: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Setup {
  const ignored: string[] = [];
  const entries = Object.entries(servers).map(([name, server]): Entry => {
    const secret = server.backend === "scripted" ? undefined : server.key?.slice("secret:".length);
    return { name, server, origin: "trust.yaml", key: secret === undefined ? null : { secret } };
  });
  const { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: base, FALLBACK_MODEL: fallback } = env;
  const named = new Set(entries.flatMap(({ server }) => ("url" in server ? [new URL(server.url).host] : [])));
  if (!entries.some(({ server }) => server.backend === "anthropic") && (key || secrets.includes("anthropic"))) {
    const own = base !== undefined && URL.canParse(base) ? new URL(base) : null;
    const allowed =
      own === null || LOOPBACK.test(own.hostname) || (own.protocol === "https:" && (own.origin === ANTHROPIC || named.has(own.host)));
    if (base && (own === null || !allowed))
      ignored.push(`ANTHROPIC_BASE_URL names a host that trust.yaml \`models:\` does not: nothing is sent there`);
    else
      entries.push({
        name: "anthropic",
        origin: `${key ? "ANTHROPIC_API_KEY" : "`cleared secrets set anthropic`"}${base ? ", ANTHROPIC_BASE_URL" : ""}`,
        server: { backend: "anthropic", url: base || ANTHROPIC, key: "secret:anthropic", sends: [], timeout_ms: 120_000 },
        key: key ? { value: key } : { secret: "anthropic" },
      });
  } else if (key || base)
    ignored.push("ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL are not used: trust.yaml `models:` names the server and its key");
  return { entries, roles, fallback: fallback || null, ignored };
}

// Models for the roles if only Anthropic is configured and config.yaml names none.
const OURS: Record<LlmRole, string> = { small: "claude-haiku-5-5", large: "claude-opus-5-5", judge: "claude-sonnet-5-5" };

/** @throws LLM_UNCONFIGURED with the missing setting */
export function modelOf(setup: Setup, asked: { role: LlmRole } | { model: string }): Resolved {
  if ("model" in asked) return find(setup, asked.model, "the call");
  const { role } = asked;
  const own = setup.roles[role];
  if (own !== undefined) return find(setup, own, `config.yaml models.${role}`);
  if (setup.fallback !== null) return find(setup, setup.fallback, "FALLBACK_MODEL");
  const [only] = setup.entries.filter(({ server }) => server.backend === "anthropic");
  if (only !== undefined) return { entry: only, id: OURS[role], name: `${only.name}/${OURS[role]}`, origin: "default" };
  throw unconfigured(
    setup.entries.length === 0
      ? "No model is configured: store a key with `cleared secrets set anthropic`, or name a server under models: in trust.yaml and its model in config.yaml."
      : `No model plays the role ${role}: write models: {${role}: ${setup.entries[0]?.name}/MODEL} in config.yaml.`,
  );
}

/** Spellings (seed 002): `entry/id`, `claude-*`, `gpt-*`; `name:tag` is Ollama's, `org/name` a router's. */
function find(setup: Setup, model: string, origin: string): Resolved {
  const { entries } = setup;
  const slash = model.indexOf("/");
  const own = slash < 0 ? undefined : entries.find(({ name }) => name === model.slice(0, slash));
  if (own !== undefined) return { entry: own, id: model.slice(slash + 1), name: model, origin };
  const [what, fits, hint] = kindOf(model);
  const fitting = entries.filter(fits);
  const [entry] = fitting;
  if (entry !== undefined && fitting.length === 1) return { entry, id: model, name: `${entry.name}/${model}`, origin };
  if (fitting.length > 1)
    throw unconfigured(
      `${origin} says ${model}, and trust.yaml has several servers for it: write ${fitting.map(({ name }) => `${name}/${model}`).join(" or ")}.`,
    );
  const near =
    slash < 0
      ? ""
      : didYouMean(
          model.slice(0, slash),
          entries.map(({ name }) => name),
        );
  throw unconfigured(`${origin} says ${model}, ${what}, and trust.yaml names no server for it.${near} ${hint}`);
}

type Kind = [what: string, fits: (entry: Entry) => boolean, hint: string];

function kindOf(model: string): Kind {
  const at = (test: (url: URL) => boolean, name: string) => (entry: Entry) =>
    entry.name === name || (entry.server.backend === "openai" && test(new URL(entry.server.url)));
  if (model.startsWith("claude-"))
    return ["a model of Anthropic", ({ server }) => server.backend === "anthropic", "Store its key with `cleared secrets set anthropic`."];
  if (/^(?:gpt-|o\d)/.test(model) && !model.includes("/") && !model.includes(":"))
    return [
      "a model of OpenAI",
      at(({ hostname }) => hostname === "api.openai.com", "openai"),
      'Write models: {openai: {backend: openai, key: "secret:openai"}} there.',
    ];
  if (model.includes("/"))
    return [
      "a model of a router",
      at(({ hostname }) => hostname.startsWith("router."), "router"),
      'Write models: {router: {backend: openai, url: "https://ROUTER/v1", key: "secret:router"}} there.',
    ];
  return [
    "a model of a local server",
    at(({ port }) => port === "11434", "ollama"),
    'Write models: {ollama: {backend: openai, url: "http://127.0.0.1:11434/v1"}} there, or SERVER/MODEL here.',
  ];
}

function unconfigured(message: string): ClearedError {
  return new ClearedError("LLM_UNCONFIGURED", message);
}
