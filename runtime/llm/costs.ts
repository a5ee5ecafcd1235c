/**
 * What models cost, in the run store. Before each request its worst case is reserved durably, in one transaction with the question whether
 * it fits; afterwards it is settled. A request that nobody settled (a kill, an answer that broke off) stays counted in full.
 */
import type { Database } from "../engine/database.ts";
import type { LlmSpender, LlmUsage } from "../kernel/ports.ts";
import type { ModelRoles } from "../workspace/settings/models.ts";
import { picoOf, usdOf } from "./catalogue.ts";

/** Of a request that used nothing, and of one that nobody has counted yet. */
export const NO_USAGE: LlmUsage = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

export interface Worst {
  tokens: number;
  /** Picodollars; null where no price is known. */
  cost: bigint | null;
}

/** A budget that a request does not fit into, or that is nearly used up. */
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
  /** Requests that were never settled; what they may have cost is counted in full. */
  open: number;
  input: number;
  cached: number;
  output: number;
  /** US dollars, exact; what is known of it where `unknown` calls have no price. */
  usd: string;
  unknown: number;
}

/** "1.20 USD", "unknown", "1.20 USD and 2 of unknown price": a model without a price has not cost nothing. */
export const costWords = ({ calls, usd, unknown }: CostRow): string =>
  unknown > 0 && unknown === calls ? "unknown" : `${usd} USD${unknown > 0 ? ` and ${unknown} of unknown price` : ""}`;

type Sum = { cost: string; tokens: number };
const SUM = "SELECT CAST(coalesce(sum(cost), 0) AS TEXT) AS cost, coalesce(sum(tokens), 0) AS tokens FROM model_calls WHERE";

export function createLedger(database: Database, now: () => number) {
  /** The first budget that what is spent and what is to come goes over; `part` of it counts. */
  const over = (spender: LlmSpender, budgets: Budgets, day: string, worst: Worst, part: bigint): Tight | null => {
    const { run, agent, proposal } = spender;
    const shares: [string, Budgets["run"], string, (string | undefined)[]][] = [
      ["this run", budgets.run, "run = ?", [run]],
      [`${agent} today`, budgets.agent_day, "agent = ? AND day = ?", [agent, day]],
      ["this proposal", budgets.proposal, "proposal = ?", [proposal]],
    ];
    for (const [what, limit, where, values] of shares) {
      const of = values.flatMap((value) => value ?? []);
      if (of.length < values.length) continue;
      const { cost, tokens } = database.get<Sum>(`${SUM} ${where}`, ...of) ?? { cost: "0", tokens: 0 };
      const [money, most] = [BigInt(cost) + (worst.cost ?? 0n), picoOf(limit.usd)];
      if (money * 100n > most * part) return { what, limit: `${limit.usd} USD`, used: `${usdOf(BigInt(cost))} USD` };
      if (BigInt(tokens + worst.tokens) * 100n > BigInt(limit.tokens) * part)
        return { what, limit: `${limit.tokens} tokens`, used: `${tokens} tokens` };
    }
    return null;
  };

  return {
    /** The id of the reservation, or the budget in the way. @throws STORE_FULL, OWNER_FENCED */
    reserve: (model: string, role: string | null, spender: LlmSpender, worst: Worst, budgets: Budgets, day: string): number | Tight =>
      database.write(() => {
        const tight = over(spender, budgets, day, worst, 100n);
        if (tight !== null) return tight;
        const { run = null, agent = null, proposal = null } = spender;
        const row = database.get<{ id: number }>(
          "INSERT INTO model_calls (at, day, run, agent, proposal, model, role, tokens, cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
          ...[now(), day, run, agent, proposal, model, role, worst.tokens, worst.cost],
        );
        return row?.id ?? 0;
      }),
    /** `usage` null: nothing was used. A reservation that is not settled stands. */
    settle: (id: number, usage: LlmUsage | null, cost: bigint | null, stop: string): void => {
      const { input, output, cache_read, cache_write } = usage ?? NO_USAGE;
      const sql = "UPDATE model_calls SET tokens = ?, cost = ?, input = ?, cached = ?, written = ?, output = ?, stop = ? WHERE id = ?";
      // Lost with the power, the reservation stands: that counts more, not less.
      database.write(
        () => database.run(sql, input + output, usage === null ? 0n : cost, input, cache_read, cache_write, output, stop, id),
        true,
      );
    },
    /** Four fifths of a budget of this spender are gone. */
    nearlySpent: (spender: LlmSpender, budgets: Budgets, day: string): Tight | null =>
      over(spender, budgets, day, { tokens: 0, cost: 0n }, 80n),
    report: (by: CostsBy): CostRow[] =>
      database
        .all<Omit<CostRow, "usd"> & { pico: string }>(
          `SELECT coalesce(${by}, '') AS name, count(*) AS calls, sum(stop IS NULL) AS open, coalesce(sum(input), 0) AS input,
             coalesce(sum(cached), 0) AS cached, coalesce(sum(output), 0) AS output,
             CAST(coalesce(sum(cost), 0) AS TEXT) AS pico, sum(cost IS NULL) AS unknown
           FROM model_calls GROUP BY ${by} ORDER BY max(id) DESC LIMIT 200`,
        )
        .map(({ pico, ...row }) => ({ ...row, usd: usdOf(BigInt(pico)) })),
  };
}
