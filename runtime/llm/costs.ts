/**
 * Costs of models, in the run store. Before each request its worst case is reserved durably, in one transaction with the check against the
 * budgets; afterwards it is settled. A request that was never settled (a kill, an interrupted answer) counts in full.
 */
import type { Database } from "../engine/store/database.ts";
import { addModelCall, modelCallsBy, settleModelCall, spentBy } from "../engine/store/model-calls.ts";
import type { LlmSpender, LlmUsage } from "../kernel/ports.ts";
import type { ModelRoles } from "../workspace/settings/models.ts";
import { picoOf, usdOf } from "./catalogue.ts";

/** For a request that used nothing, or that was not counted yet. */
export const NO_USAGE: LlmUsage = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

export interface Worst {
  tokens: number;
  /** Picodollars; null without a known price. */
  cost: bigint | null;
}

/** A budget that is too small for a request, or nearly used up. */
export interface Tight {
  what: string;
  limit: string;
  used: string;
}

export type Ledger = ReturnType<typeof createLedger>;
type Budgets = ModelRoles["budgets"];

export const COSTS_BY = ["run", "agent", "model", "proposal", "day"] as const;
export type CostsBy = (typeof COSTS_BY)[number];

export interface CostRow {
  name: string;
  calls: number;
  /** Requests that were never settled; their worst case is counted. */
  open: number;
  input: number;
  cached: number;
  output: number;
  /** US dollars, exact; the known part if `unknown` calls have no price. */
  usd: string;
  unknown: number;
}

/** "1.20 USD", "unknown", "1.20 USD and 2 of unknown price": a model without a price was not free. */
export const costWords = ({ calls, usd, unknown }: CostRow): string =>
  unknown > 0 && unknown === calls ? "unknown" : `${usd} USD${unknown > 0 ? ` and ${unknown} of unknown price` : ""}`;

export function createLedger(database: Database, now: () => number) {
  /** The first budget exceeded by past and reserved costs; only `part` of the budget may be used. */
  const over = (spender: LlmSpender, budgets: Budgets, day: string, worst: Worst, part: bigint): Tight | null => {
    const shares = [
      { what: "this run", limit: budgets.run, by: "run", name: spender.run },
      { what: `${spender.agent} today`, limit: budgets.agent_day, by: "agent", name: spender.agent },
      { what: "this proposal", limit: budgets.proposal, by: "proposal", name: spender.proposal },
    ] as const;
    for (const { what, limit, by, name } of shares) {
      if (name === undefined) continue;
      const { cost, tokens } = spentBy(database, by, name, by === "agent" ? day : null);
      const [money, most] = [BigInt(cost) + (worst.cost ?? 0n), picoOf(limit.usd)];
      if (money * 100n > most * part) return { what, limit: `${limit.usd} USD`, used: `${usdOf(BigInt(cost))} USD` };
      if (BigInt(tokens + worst.tokens) * 100n > BigInt(limit.tokens) * part)
        return { what, limit: `${limit.tokens} tokens`, used: `${tokens} tokens` };
    }
    return null;
  };

  return {
    /** The id of the reservation, or the budget that is too small. @throws STORE_FULL, OWNER_FENCED */
    reserve: (model: string, role: string | null, spender: LlmSpender, worst: Worst, budgets: Budgets, day: string): number | Tight =>
      database.write(() => {
        const tight = over(spender, budgets, day, worst, 100n);
        if (tight !== null) return tight;
        const { run = null, agent = null, proposal = null } = spender;
        const { tokens, cost } = worst;
        return addModelCall(database, { at: now(), day, run, agent, proposal, model, role, tokens, cost });
      }),
    /** `usage` null: nothing was used. An unsettled reservation stays counted. */
    settle: (id: number, usage: LlmUsage | null, cost: bigint | null, stop: string): void =>
      settleModelCall(database, id, usage ?? NO_USAGE, usage === null ? 0n : cost, stop),
    /** A budget of this spender of which four fifths are used. */
    nearlySpent: (spender: LlmSpender, budgets: Budgets, day: string): Tight | null =>
      over(spender, budgets, day, { tokens: 0, cost: 0n }, 80n),
    report: (by: CostsBy): CostRow[] => modelCallsBy(database, by).map(({ pico, ...row }) => ({ ...row, usd: usdOf(BigInt(pico)) })),
  };
}
