/**
 * Facts about models, and the cost of a call. Money is in whole picodollars (1e-12 US dollars): a price per million tokens has at most six
 * decimal places, so every sum is exact. A model without a price costs "unknown", never 0.
 */
import { readFileSync } from "node:fs";
import { ONE, exact, fixed } from "../kernel/exact.ts";
import type { LlmUsage } from "../kernel/ports.ts";
import { checkYaml, readYaml, type YamlSource } from "../scripts/yaml-text.ts";
import { type ModelFacts, type ModelRoles, type Price, modelRolesSchema } from "../workspace/settings/models.ts";
import { z } from "zod";

const SOURCE: YamlSource = { file: "runtime/llm/catalogue.yaml", code: "CONFIG_INVALID", maxLength: 65_536 };
let known: ModelRoles["catalogue"] | null = null;

/** Facts about a model by its id, a dated one (`claude-haiku-4-5-20251001`) by its alias; an unknown model is assumed to be small. */
export function factsOf(id: string, { catalogue }: Pick<ModelRoles, "catalogue">): ModelFacts {
  known ??= ours();
  const alias = id.replace(/-\d{8}$/, "");
  const own = (table: ModelRoles["catalogue"], name: string) => (Object.hasOwn(table, name) ? table[name] : undefined);
  return own(catalogue, id) ?? own(catalogue, alias) ?? own(known, id) ?? own(known, alias) ?? unknownModel;
}

const unknownModel: ModelFacts = {
  context: 32_768,
  max_output: 4096,
  json: true,
  tools: true,
  forced_tools: false,
  effort: false,
  prices: [],
};

function ours(): ModelRoles["catalogue"] {
  const yaml = readYaml(readFileSync(new URL("catalogue.yaml", import.meta.url), "utf8"), SOURCE);
  const checked = checkYaml(
    { ...yaml, value: { catalogue: yaml.value } },
    z.lazy(() => modelRolesSchema),
    SOURCE,
  );
  return checked.catalogue;
}

/** Picodollars; null without a known price. @param day YYYY-MM-DD of the call */
export function costOf({ prices }: ModelFacts, usage: LlmUsage, day: string): bigint | null {
  const price = priceFor(prices, usage.input, day);
  if (price === null) return null;
  const { input, output, cache_read = input, cache_write = input } = price;
  const fresh = usage.input - usage.cache_read - usage.cache_write;
  const parts: [number, string][] = [
    [Math.max(0, fresh), input],
    [usage.cache_read, cache_read],
    [usage.cache_write, cache_write],
    [usage.output, output],
  ];
  // Prices are per million tokens.
  return parts.reduce((sum, [tokens, rate]) => sum + BigInt(tokens) * (picoOf(rate) / 1_000_000n), 0n);
}

/** The most that a call with this many tokens can cost: all input at its highest rate. */
export function worstCost(facts: ModelFacts, { input, output }: { input: number; output: number }, day: string): bigint | null {
  const ways = [0, 1].map((written) => costOf(facts, { input, output, cache_read: 0, cache_write: written * input }, day));
  return ways.reduce((most, one) => (one === null || most === null ? null : one > most ? one : most));
}

/** The latest of the prices valid on the day; among those, the one for a prompt of this size. */
function priceFor(prices: readonly Price[], prompt: number, day: string): Price | null {
  const fitting = prices.filter(({ from, above }) => from <= day && (above === 0 || prompt > above));
  return fitting.reduce<Price | null>(
    (best, one) => (best === null || one.from > best.from || (one.from === best.from && one.above > best.above) ? one : best),
    null,
  );
}

const PICO = 10n ** 12n;

/** Picodollars of an amount in dollars. */
export const picoOf = (usd: string): bigint => (exact(usd) * PICO) / ONE;

/** Dollars as exact decimal text with at least two decimal places. */
export const usdOf = (pico: bigint): string => fixed((pico * ONE) / PICO, 12).replace(/0{1,10}$/, "");

/**
 * An upper bound of the tokens in a text. Measured: at least 2.5 characters per token in prose and code; 2 leaves room for figures and names,
 * and a character outside ASCII may be more than one token.
 */
export function mostTokens(text: string): number {
  const wide = text.length - text.replace(/[^\x20-\x7e\s]/g, "").length;
  return Math.ceil((text.length - wide) / 2 + wide * 1.5);
}
