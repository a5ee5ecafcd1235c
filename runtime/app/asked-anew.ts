/**
 * Asks models, for a backtest (`--ask --budget`), the questions that no recording answers: each once, within a sum in US dollars that is
 * reserved before each request, and compared with recorded answers to the same question in other words or by another model.
 */
import { randomUUID } from "node:crypto";
import { canonicalJson } from "../kernel/canonical.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { Json } from "../kernel/ports.ts";
import { shortJson } from "../kernel/text.ts";
import { type AskAnew, missing } from "../change/evidence/recorded.ts";
import type { AskedAnew } from "../change/evidence/types.ts";
import { factsOf, worstCost } from "../llm/catalogue.ts";
import { isObject } from "../rules/tools/shape.ts";
import { dayIn } from "../scripts/header.ts";
import { modelRolesOf } from "../workspace/settings/models.ts";
import type { Host } from "./host.ts";

const SHOWN = 50;
// Fields of an answer other than the answer itself: confidence and its basis.
const BESIDE = ["agreement", "confidence", "quotes"];

const meant = (result: Json): string =>
  canonicalJson(isObject(result) ? Object.fromEntries(Object.entries(result).filter(([key]) => !BESIDE.includes(key))) : result);

/** @throws USAGE for an invalid budget */
export async function createAskAnew(host: Host, { budget }: { budget: string }): Promise<{ ask: AskAnew; report(): Promise<AskedAnew> }> {
  if (!/^\d{1,4}(?:\.\d{1,6})?$/.test(budget)) throw new ClearedError("USAGE", `--budget ${budget}: write US dollars, such as 0.50.`);
  const config = await host.config();
  const roles = modelRolesOf(config);
  const proposal = `backtest ${randomUUID().slice(0, 8)}`;
  const limit = { ...roles.budgets.proposal, usd: budget, tokens: 1_000_000_000 };
  const llm = host.models.llm({ ...config, models: { ...roles, budgets: { ...roles.budgets, proposal: limit } } });
  const told: AskedAnew = { budget, usd: "0.00", asked: 0, same: 0, compared: 0, left: 0, differ: [] };
  const known = new Map<string, Promise<Json>>();

  const ask: AskAnew = (primitive, params, ctx, was) => {
    const anew = async (): Promise<Json> => {
      const answer = (await primitive.run(params as never, {
        ...ctx,
        ports: {
          ...ctx.ports,
          llm: {
            ...ctx.ports.llm,
            async generate({ role = "small", ...request }) {
              // Named, so that a smaller model never answers instead when the budget is nearly used up.
              const model = request.model ?? (await ctx.ports.llm.modelOf({ role }));
              const facts = factsOf(model.slice(model.indexOf("/") + 1), roles);
              if (worstCost(facts, { input: 1, output: 1 }, dayIn(config.timezone, host.clock.now())) === null)
                throw new ClearedError(
                  "LLM_BUDGET",
                  `no price is known for ${model}, so no budget holds: give it one under models.catalogue in config.yaml`,
                );
              return llm.generate({ ...request, model, spender: { proposal } });
            },
          },
        },
      })) as Json;
      told.asked++;
      if (was === null) return answer;
      told.compared++;
      if (meant(was) === meant(answer)) told.same++;
      else if (told.differ.length < SHOWN)
        told.differ.push({ run: ctx.run.id, call: primitive.name, was: shortJson(was, 200), now: shortJson(answer, 200) });
      return answer;
    };
    const key = canonicalJson([primitive.name, params as Json]);
    const found =
      known.get(key) ??
      anew().catch((error: unknown) => {
        if (!(error instanceof ClearedError) || !error.code.startsWith("LLM_")) throw error;
        known.delete(key);
        told.left++;
        throw missing(`a model was asked again, and did not answer: ${toWire(error).message}`);
      });
    known.set(key, found);
    return found;
  };
  const report = async (): Promise<AskedAnew> => ({
    ...told,
    usd: (await host.models.costs("proposal")).find(({ name }) => name === proposal)?.usd ?? "0.00",
  });
  return { ask, report };
}
