/** Models of a workspace: the port for runs and operations, the configured models and whether they work, and costs. Loaded on first use. */
import { beginning } from "../engine/access.ts";
import { getFact, setFact } from "../engine/store/facts.ts";
import { addMark, hasAskedModel, marksOf } from "../engine/store/model-calls.ts";
import type { Database } from "../engine/store/database.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import {
  type Card,
  type Clock,
  type Decision,
  type Engine,
  type Json,
  LLM_ROLES,
  type Llm,
  type LlmRequest,
  type RunLlm,
  type RunLog,
  type RunRecord,
  type Step,
} from "../kernel/ports.ts";
import type { CostRow, CostsBy } from "../llm/costs.ts";
import type { Models } from "../llm/models.ts";
import { type Local, WHY } from "./local.ts";
import type { Config, Trust } from "../workspace/settings/config.ts";
import { lookAtTrust, sealerOf } from "../workspace/settings/confirmation.ts";
import { modelRolesOf } from "../workspace/settings/models.ts";
import { openSecrets } from "../workspace/settings/secrets.ts";

export type WorkspaceModels = ReturnType<typeof createWorkspaceModels>;

interface Around {
  dir: string;
  trust: Trust;
  clock: Clock;
  database: Database;
  /** @throws TRUST_CHANGED, OWNER_FENCED */
  leaving(): void;
}

const PROBED = "model probe ";
// A model's answer has some kilobytes; anything longer is an error.
const LONGEST_ANSWER = 4 * 1024 * 1024;

export function createWorkspaceModels({ dir, trust, clock, database, leaving }: Around) {
  let loading: Promise<Models> | null = null;
  const ledger = async () => (await import("../llm/costs.ts")).createLedger(database, () => clock.now());
  const models = () =>
    (loading ??= (async () => {
      const [{ createModels }, { createFetch }] = await Promise.all([import("../llm/models.ts"), import("../outside/mcp/addresses.ts")]);
      const fetch = createFetch({ rules: null, maxBytes: LONGEST_ANSWER });
      const cannot = (model: string) => (getFact(database, PROBED + model) ?? "").split(" ");
      return createModels({ dir, trust, clock, fetch, leaving, cannot, ledger: await ledger() });
    })());
  /** For an operation of its own, which names who pays. */
  const llm = (config: Config, note?: (message: string) => void): Llm => {
    const made = () => models().then((all) => all.llm(config, note));
    return { modelOf: async (asked) => (await made()).modelOf(asked), generate: async (request) => (await made()).generate(request) };
  };
  return {
    llm,
    /** For one run; never asks in a trial. */
    forRun(run: RunRecord, log: RunLog, config: Config): RunLlm {
      const asked = llm(config, (message) => log.event("log", { level: "warn", message }));
      return {
        modelOf: asked.modelOf,
        generate: async (request) => {
          if (run.mode !== "live") throw new ClearedError("INTERNAL", "A trial run asked a model.");
          return asked.generate(request);
        },
        async decided(site, name) {
          const seal = sealerOf(dir);
          const ours = marksOf(database, site, name).filter((one) => one.seal === seal("mark", site, name, one.card, one.confirmed));
          return { decided: ours.length, confirmed: ours.filter(({ confirmed }) => confirmed === 1).length };
        },
        doubtful: (json) => {
          const texts = log.steps.flatMap((step) => step.changes.flatMap((one) => (one.op === "doubtful" ? [one.text] : [])));
          return texts.map(beginning).find((one) => json.includes(one)) ?? null;
        },
      };
    },
    costs: async (by: CostsBy): Promise<CostRow[]> => (await ledger()).report(by),
  };
}

/** What is configured, and where; for an unconfirmed trust.yaml, what it would configure. Asks no model. @throws SECRET_MISSING, CONFIG_INVALID */
export async function listModels(dir: string, { trust, config, unconfirmed }: Listed) {
  const { modelOf, setupOf } = await import("../llm/resolve.ts");
  const { models } = unconfirmed === null ? trust : lookAtTrust(dir).trust;
  const setup = setupOf(models, modelRolesOf(config), await openSecrets(dir).names());
  const servers = setup.entries.map(({ name, origin, server, key }) => ({
    name,
    origin: unconfirmed !== null && Object.hasOwn(models, name) ? `${origin}, not confirmed` : origin,
    backend: server.backend,
    where: "url" in server ? server.url : server.file,
    sends: "sends" in server ? ["text", ...server.sends] : [],
    key: key === null ? null : "secret" in key ? `secret:${key.secret}` : "ANTHROPIC_API_KEY",
  }));
  /** model null: `origin` names the missing setting. */
  const roles = LLM_ROLES.map((role): { role: string; model: string | null; origin: string } => {
    try {
      const { name, origin } = modelOf(setup, { role });
      if (unconfirmed === null) return { role, model: name, origin };
      const why = `${WHY[unconfirmed]}, so ${name} is not asked. \`cleared trust\` shows what would take effect and asks.`;
      return { role, model: null, origin: why };
    } catch (error) {
      return { role, model: null, origin: toWire(error).message };
    }
  });
  // Ignored: variables of the environment that were not used.
  return { servers, roles, ignored: setup.ignored };
}

type Listed = Pick<Local, "trust" | "config" | "unconfirmed">;

export interface ModelTest {
  model: string;
  roles: string[];
  parts: { part: "text" | "json" | "tools" | "streaming"; ok: boolean; says: string; code?: string }[];
}

interface Probe {
  asks: Pick<LlmRequest, "messages"> & Partial<LlmRequest>;
  wanted: string;
  works(answer: Awaited<ReturnType<Llm["generate"]>>, pieces: number): boolean;
}

const user = (content: string): LlmRequest["messages"] => [{ role: "user", content }];
const one = (name: string, type: string) => ({
  type: "object",
  properties: { [name]: { type } },
  required: [name],
  additionalProperties: false,
});
const PROBES: Record<ModelTest["parts"][0]["part"], Probe> = {
  text: {
    asks: { messages: user("Answer with the word ready.") },
    wanted: "a text",
    works: ({ content }) => content.some((part) => part.type === "text"),
  },
  json: {
    asks: { messages: user("Which number comes after 41?"), schema: one("number", "integer") },
    wanted: "a JSON value",
    works: ({ value }) => value !== undefined,
  },
  tools: {
    asks: {
      messages: user("Look up the balance of account 1010."),
      tools: [{ name: "balance", description: "The balance of an account", schema: one("account", "string") }],
      must_call: true,
    },
    wanted: "a call of the tool",
    works: ({ content }) => content.some((part) => part.type === "tool_call" && part.tool === "balance"),
  },
  streaming: {
    asks: { messages: user("Count from one to five in words.") },
    wanted: "a text that comes in pieces",
    works: (_, pieces) => pieces > 0,
  },
};

/** Makes four small requests to each model with a role. @throws LLM_UNCONFIGURED if there is none */
export async function testModels(
  host: Pick<Around, "dir" | "trust" | "database"> & { models: WorkspaceModels; config(): Promise<Config> },
): Promise<ModelTest[]> {
  const config = await host.config();
  const { roles } = await listModels(host.dir, { trust: host.trust, config, unconfirmed: null });
  const named = roles.flatMap(({ model }) => (model === null ? [] : [model]));
  if (named.length === 0) throw new ClearedError("LLM_UNCONFIGURED", roles[0]?.origin ?? "No model is configured.");
  const llm = host.models.llm(config);
  const { PROBER } = await import("../llm/models.ts");
  return Promise.all(
    [...new Set(named)].map(async (model) => {
      const parts: ModelTest["parts"] = [];
      for (const [part, { asks, wanted, works }] of Object.entries(PROBES) as [ModelTest["parts"][0]["part"], Probe][]) {
        let pieces = 0;
        try {
          const onText = part === "streaming" ? { onText: () => void pieces++ } : {};
          const answer = await llm.generate({
            ...{ model, system: "", max_tokens: 2000, abort: new AbortController().signal, spender: { agent: PROBER } },
            ...{ brief: true as const, ...asks, ...onText },
          });
          const ok = works(answer, pieces);
          parts.push({ part, ok, says: ok ? "works" : `it stopped with "${answer.stop}" and its answer is not ${wanted}` });
        } catch (error) {
          const { code, message } = toWire(error);
          parts.push({ part, ok: false, says: message, code });
          // A model that does not answer at all fails the other parts too.
          if (part === "text") break;
        }
      }
      // Recorded for later calls: wrong answers of a server, not its absence.
      const wrong = parts.filter(({ ok, code }) => !ok && code !== "LLM_DOWN" && code !== "LLM_LOST" && code !== "LLM_LIMITED");
      if (parts.length > 1) setFact(host.database, PROBED + model, wrong.map(({ part }) => part).join(" "));
      return { model, roles: roles.filter((one) => one.model === model).map(({ role }) => role), parts };
    }),
  );
}

// Decisions of people about a class that a model assigned: an entry whose text was classified, and the decision on its card. Left unchanged, the
// class is confirmed; moved to another account or rejected, it is not. The only basis of a model's `confidence`.

/** The steps of the run that opened an entry's card, if it asked a model. */
export async function classifiedIn({ database, engine }: { database: Database; engine: Pick<Engine, "steps"> }, { run, kind }: Card) {
  if (run === null || kind !== "entry" || !hasAskedModel(database, run)) return null;
  return engine.steps(run);
}

/** Counts a decision about an entry's card, once. @param steps of the run that wrote the entry */
export function markDecision({ dir, database }: Pick<Around, "dir" | "database">, card: Card, decision: Decision, steps: readonly Step[]) {
  const entry = (card.body as { entry?: Json } | null)?.entry;
  if (typeof entry !== "string") return;
  const wrote = steps.findLast((step) => step.effect === "write" && step.result?.includes(JSON.stringify(entry)));
  const asked = steps.findLast((step) => step.seq < (wrote?.seq ?? 0) && siteOf(step) !== undefined && isAbout(step, wrote));
  const [site, name] = [asked === undefined ? undefined : siteOf(asked), classOf(asked)];
  if (site === undefined || name === null) return;
  const confirmed = decision.decision === "approved" && decision.account === undefined ? 1 : 0;
  addMark(database, site, name, { card: card.id, confirmed, seal: sealerOf(dir)("mark", site, name, card.id, confirmed) });
}

const siteOf = (step: Step): string | undefined => step.changes.flatMap((one) => (one.op === "asked" && one.site ? [one.site] : []))[0];

function classOf(step: Step | undefined): string | null {
  const { class: name } = JSON.parse(step?.result ?? "{}") as { class?: Json };
  return typeof name === "string" ? name : null;
}

/** The classified text names what the entry is about: the class of another row says nothing about this one. */
function isAbout(step: Step, wrote: Step | undefined): boolean {
  const { text = "" } = JSON.parse(step.params) as { text?: string };
  const { description = "", counterparty = "" } = JSON.parse(wrote?.params ?? "{}") as { description?: string; counterparty?: string };
  return [description, counterparty].some((one) => one !== "" && text.includes(one));
}
