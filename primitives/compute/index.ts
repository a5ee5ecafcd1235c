/** The compute primitives, in the order of docs/PRIMITIVES.md. */
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

/** All exports of these files, sorted by name within a file: the order of a module's exports differs between loaders. */
export const primitivesIn = (files: readonly Record<string, unknown>[]): Primitive[] =>
  files.flatMap((file) => Object.values(file as Record<string, Primitive>).sort((a, b) => (a.name < b.name ? -1 : 1)));

export const computePrimitives: readonly Primitive[] = primitivesIn(FILES);
