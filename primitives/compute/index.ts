/**
 * The compute primitives, in the order of docs/PRIMITIVES.md, and the names the reference vectors know them by. A script name is
 * `compute_` and the vector's function name, with a leading `apply_` or `compute_` of the vector dropped once.
 */
import type { Primitive } from "../../runtime/kernel/primitive.ts";
import * as allocation from "./allocation.ts";
import * as checks from "./checks.ts";
import * as contract from "./contract.ts";
import * as currency from "./currency.ts";
import * as dates from "./dates.ts";
import * as depreciation from "./depreciation.ts";
import * as loans from "./loans.ts";
import * as markets from "./markets.ts";
import * as overtime from "./overtime.ts";
import * as payroll from "./payroll.ts";
import * as receivables from "./receivables.ts";
import * as risk from "./risk.ts";
import * as sla from "./sla.ts";
import * as stats from "./stats.ts";
import * as supply from "./supply.ts";
import * as tax from "./tax.ts";
import * as valuation from "./valuation.ts";

const FILES = [
  ...[checks, allocation, currency, contract, loans, depreciation, valuation, markets],
  ...[overtime, payroll, sla, supply, dates, receivables, stats, tax, risk],
];

const byName = (a: Primitive, b: Primitive): number => (a.name < b.name ? -1 : 1);

/** By name within a file: the order of a module's exports is not the same under every loader. */
export const computePrimitives: readonly Primitive[] = FILES.flatMap((file) => Object.values<Primitive>({ ...file }).sort(byName));

/** Names the vectors have with a prefix of the seed; null: there are no vectors for it. */
const RENAMED: Record<string, string | null> = {
  compute_early_termination_fee: "apply_early_termination_fee",
  compute_variance_check: "apply_variance_check",
  compute_sla_credit: "compute_sla_credit",
  compute_sub_limit: "apply_sub_limit",
  compute_gift_card_capacity: "compute_gift_card_capacity",
  compute_percent_of: null,
  compute_fx_convert: null,
  compute_risk_ahp: null,
  compute_tax_bands: null,
};

/** Script name to the function name in the vectors. */
export const VECTOR_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  computePrimitives.flatMap(({ name }) => {
    const renamed = RENAMED[name];
    return renamed === null ? [] : [[name, renamed ?? name.slice("compute_".length)] as const];
  }),
);
