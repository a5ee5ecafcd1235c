/** Stock: order quantity, value, stockout risk. Orders and risks are models in doubles; values are exact. */
import { z } from "zod";
import { nonNegativeMoney } from "../_shapes.ts";
import { amounts, defineCompute, finite, placesOf, refuse } from "./declare.ts";
import { exact, least, over, plain, round, share, sum, times } from "../../runtime/kernel/exact.ts";
import { cumulative } from "./roots.ts";
import { exactOut, fields, figure, inCurrency, list, moneyOut, real } from "./shapes.ts";

export const compute_sc_eoq = defineCompute({
  name: "compute_sc_eoq",
  summary: "Economic order quantity, safety stock and reorder point, for a year of 365 days.",
  params: z.object({
    annual_demand: real(0, 1e12, "open").describe("units a year"),
    ordering_cost: real(0, 1e9, "open").describe("cost of one order"),
    holding_cost_per_unit: real(0, 1e9, "open").describe("cost of keeping one unit for a year"),
    lead_time_days: real(0, 3650).describe("days from order to delivery"),
    daily_demand_stddev: real(0, 1e12).default(0).describe("standard deviation of a day's demand"),
    service_level_z: real(-5, 5).default(1.645).describe("standard deviations to cover: 1.645 is 95 %"),
  }),
  returns: z.object({
    result: z.number().describe("units of one order"),
    ...fields(z.number(), "eoq", "reorder_point", "safety_stock", "orders_per_year"),
    total_annual_cost: z.number().describe("ordering and holding; an estimate, not an amount to book"),
  }),
  example:
    "compute_sc_eoq({ annual_demand: 36500, ordering_cost: 75, holding_cost_per_unit: 3, lead_time_days: 10, daily_demand_stddev: 12 })",
  run(p) {
    const [demand, order, holding] = [Number(p.annual_demand), Number(p.ordering_cost), Number(p.holding_cost_per_unit)];
    const lead = Number(p.lead_time_days);
    // Harris 1913: sqrt(2 D S / H). Safety stock z sd sqrt(L), reorder point D/365 L + safety stock.
    const eoq = finite(Math.sqrt((2 * demand * order) / holding));
    const safety = Number(p.service_level_z) * Number(p.daily_demand_stddev) * Math.sqrt(lead);
    return {
      result: eoq,
      eoq,
      reorder_point: (demand / 365) * lead + safety,
      safety_stock: safety,
      orders_per_year: finite(demand / eoq),
      total_annual_cost: finite((demand / eoq) * order + (eoq / 2) * holding),
    };
  },
});

export const compute_sc_inventory_value = defineCompute({
  name: "compute_sc_inventory_value",
  summary: "Cost of goods sold and value of the remaining stock, at the end of the period; IFRS does not allow lifo (IAS 2.25).",
  params: z.object({
    purchases: list(
      z.object({ units: figure({ from: "0" }).describe("units bought"), unit_cost: nonNegativeMoney.describe("cost of one") }),
      1,
    ).describe("oldest first, opening stock included"),
    units_sold: figure({ from: "0" }).describe("units sold in the period"),
    method: z.enum(["fifo", "lifo", "weighted_avg"]).default("fifo").describe("which units count as sold"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("cost of goods sold"),
    cogs: moneyOut,
    ending_inventory_units: exactOut,
    ending_inventory_value: moneyOut,
    avg_unit_cost: moneyOut.describe("of all units"),
  }),
  alsoRefuses: ["COMPUTE_UNITS"],
  example: `compute_sc_inventory_value({ purchases: [{ units: 100, unit_cost: "10.00" }, { units: 50, unit_cost: "12.00" }], units_sold: 120, method: "fifo" })`,
  run(p) {
    const lots = p.purchases.map((lot) => ({ units: exact(lot.units), cost: exact(lot.unit_cost) }));
    const [units, sold] = [sum(lots.map((lot) => lot.units)), exact(p.units_sold)];
    const short = `units_sold: ${p.units_sold} is more than the ${plain(units)} units bought.`;
    if (sold > units) refuse("insufficient_units", short, "COMPUTE_UNITS", { available: plain(units) });
    if (units === 0n) refuse("no_units", "purchases: contain no units.");
    const value = sum(lots.map((lot) => times(lot.units, lot.cost)));
    const cogs = p.method === "weighted_avg" ? share(value, sold, units) : consumed(p.method === "fifo" ? lots : lots.toReversed(), sold);
    // The rest is the unsold stock, so that both add up to the purchases.
    const rounded = round(cogs, placesOf(p));
    return {
      ...amounts(p, { result: rounded, cogs: rounded }),
      ending_inventory_units: plain(units - sold),
      ...amounts(p, { ending_inventory_value: round(value, placesOf(p)) - rounded, avg_unit_cost: over(value, units) }),
    };
  },
});

function consumed(lots: readonly { units: bigint; cost: bigint }[], sold: bigint): bigint {
  let [left, cost] = [sold, 0n];
  for (const lot of lots) {
    const taken = least(left, lot.units);
    cost += times(taken, lot.cost);
    left -= taken;
  }
  return cost;
}

export const compute_sc_stockout_risk = defineCompute({
  name: "compute_sc_stockout_risk",
  summary: "Probability that no stockout happens before a delivery (cycle service level, not fill rate), demand being normal.",
  params: z.object({
    avg_daily_demand: real(0, 1e12).describe("mean units a day"),
    demand_stddev: real(0, 1e12, "open").describe("standard deviation of a day's demand"),
    lead_time_days: real(0, 3650, "open").describe("days from order to delivery"),
    reorder_point: real(0, 1e12).describe("stock at which an order is placed"),
  }),
  returns: z.object({
    result: z.number().describe("service level in percent"),
    ...fields(z.number(), "service_level_pct", "stockout_probability_pct", "z_score", "expected_demand_during_lead_time"),
    safety_stock_implied: z.number(),
  }),
  example: "compute_sc_stockout_risk({ avg_daily_demand: 20, demand_stddev: 5, lead_time_days: 4, reorder_point: 100 })",
  run(p) {
    const [lead, point] = [Number(p.lead_time_days), Number(p.reorder_point)];
    const expected = Number(p.avg_daily_demand) * lead;
    const score = finite((point - expected) / (Number(p.demand_stddev) * Math.sqrt(lead)));
    const level = cumulative(score) * 100;
    return {
      result: level,
      service_level_pct: level,
      stockout_probability_pct: 100 - level,
      z_score: score,
      expected_demand_during_lead_time: expected,
      safety_stock_implied: point - expected,
    };
  },
});
