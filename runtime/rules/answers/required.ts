/** What the answer of a process must contain (spec/worker.md 17.1). Scripts return typed objects, checked by `missingFields`. */
import { isDay } from "../../kernel/day.ts";
import { AMOUNT_PATTERN } from "../../kernel/money.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { compareDecimals, sumDecimals } from "../policy/values.ts";
import { type Fields, isObject, own } from "../tools/shape.ts";

type Value = Json | undefined;
type Check = readonly [wanted: string, fits: (value: Value) => boolean];

const isAmount = (value: Value) => typeof value === "string" && AMOUNT_PATTERN.test(value);
const isText = (value: Value) => typeof value === "string" && value.trim() !== "";

/** Each kind for messages, and its test. `filled`: any value but an empty one. */
const KINDS = {
  amount: ['decimal text such as "42.99"', isAmount],
  text: ["text", isText],
  id: ["an id that is not empty", (value: Value) => isText(value) || Number.isSafeInteger(value)],
  count: ["a whole number", Number.isSafeInteger],
  list: ["a list", Array.isArray],
  day: ["a day, YYYY-MM-DD", (value: Value) => typeof value === "string" && isDay(value)],
  filled: ["a value that is not empty", isFilled],
} as const satisfies Record<string, Check>;
type Kind = keyof typeof KINDS | "decision";

function isFilled(value: Value): boolean {
  if (value === undefined || value === null) return false;
  return typeof value === "object" ? Object.keys(value).length > 0 : String(value).trim() !== "";
}

const DECISIONS = ["approved", "rejected", "denied", "escalated", "blocked"];
const MORE_DECISIONS: Record<string, string[]> = {
  invoice_reconciliation: ["matched", "reconciled"],
  dispute_resolution: ["partial", "resolved", "credited"],
};

/** A row: field=kind; ... `!`: known before any decision, so that a rejected, blocked or expired answer has it too. */
const PROCESSES: Record<string, string> = {
  expense_approval: "decision=decision; amount!=amount; requester!=text; reason=text",
  invoice_reconciliation: "decision=decision; amount!=amount; vendor!=text; variance!=amount",
  procurement: "po_number=id; vendor!=text; amount!=amount; approval=text",
  hr_offboarding: "access!=filled; systems!=list; equipment!=filled",
  payroll: "gross!=amount; net!=amount; deductions!=amount; headcount!=count",
  sla_breach: "credit!=amount; breach!=filled; customer!=text",
  month_end_close: "period!=text; balance!=amount; approval=text",
  ar_collections: "amount!=amount; action=filled; aging!=filled",
  compliance_audit: "findings!=list; score!=filled; actions=list",
  dispute_resolution: "decision=decision; amount!=amount; reason=text",
  subscription_migration: "plan!=text; billing!=filled; effective=day",
  order_management: "order_id!=id; total!=amount; fulfillment=filled",
  incident_response: "severity!=text; resolution=text; impact!=filled",
  customer_onboarding: "account_id=id; csm=text; next_step=filled",
};
const GENERAL = "decision_or_status=text; action_taken=filled; key_entity!=id";
const UNIVERSAL = "summary=text";

function fieldsOf(process: string) {
  const row = Object.hasOwn(PROCESSES, process) ? PROCESSES[process] : GENERAL;
  return `${row}; ${UNIVERSAL}`.split("; ").map((field) => {
    const [, name = "", early = "", kind = ""] = /^(\w+)(!?)=(\w+)$/.exec(field) ?? [];
    return { name, kind: kind as Kind, early: early !== "" };
  });
}

/** A field of the header's `output:`. */
export interface OutputField {
  type: string;
  /** Required unless false. */
  required?: boolean | undefined;
}

const BY_TYPE: Record<string, Kind> = { string: "text", money: "amount", date: "day", list: "list", integer: "count" };

/**
 * Required fields of a result that are absent or of another kind, each with the expected kind: `decision (one of approved, ...)`.
 * process: null when the header names none. An unlisted process that declares its output needs only what it declares.
 * A ranked list has no fields: callers do not check it. `ended`: rejected, blocked or expired, so only fields known before count.
 */
export function missingFields(process: string | null, output: Record<string, OutputField>, result: Json, ended = false): string[] {
  const fields = isObject(result) ? result : {};
  const declared = Object.entries(output).filter(([, one]) => one.required !== false && !ended);
  const listed = process !== null && (Object.hasOwn(PROCESSES, process) || declared.length === 0);
  const wanted = new Map<string, Kind>(declared.map(([name, one]) => [name, BY_TYPE[one.type] ?? "filled"]));
  if (listed) for (const { name, kind, early } of fieldsOf(process)) if (early || !ended) wanted.set(name, kind);
  const decisions: Value[] = [...DECISIONS, ...(MORE_DECISIONS[process ?? ""] ?? [])];
  const kinds: Record<Kind, Check> = { ...KINDS, decision: [`one of ${decisions.join(", ")}`, (value) => decisions.includes(value)] };
  return [...wanted].flatMap(([name, kind]) => (kinds[kind][1](own(fields, name)) ? [] : [`${name} (${kinds[kind][0]})`]));
}

/** @throws OUTPUT_INCOMPLETE for an answer that lacks a field or, with `sums`, does not add up */
export function assertWhole(result: Json, of: { process: string | null; output: Record<string, OutputField>; sums: boolean }): void {
  const missing = missingFields(of.process, of.output, result);
  const wrong = of.sums ? brokenSums(result) : [];
  const lacks = missing.length === 0 ? [] : [`lacks ${missing.join(", ")}`];
  const why = [...lacks, ...wrong.map((one) => `does not add up: ${one}`)].join("; it ");
  if (why === "") return;
  const message = `The answer ${why}. The header's output: and its process say what the script's last expression must contain.`;
  throw new ClearedError("OUTPUT_INCOMPLETE", message, { data: { missing, wrong } });
}

/** Equations between the fields of one object; and lists whose fields add up to the field of that name in the object itself. */
const IDENTITIES = ["net + deductions = gross", "net + tax = gross", "cost + fee - credit = net", "debit = credit"].map((identity) => {
  const [terms = "", result = ""] = identity.split(" = ");
  return {
    identity,
    result,
    terms: [...terms.matchAll(/(- )?(\w+)/g)].map(([, minus, name = ""]) => ({ minus: minus !== undefined, name })),
  };
});
const WHOLES = ["slips", "lines", "parts", "shares", "departments", "allocation"];

/**
 * The sums of an answer that are wrong, with both sides (spec/worker.md 15): net + deductions = gross, debit = credit, the parts of a
 * list = their total. Answers are flat: only three levels are read.
 */
export function brokenSums(answer: Json, depth = 0): string[] {
  if (!isObject(answer)) return [];
  const compare = (what: string, left: (string | null)[], right: (string | null)[]): string[] => {
    const known = [...left, ...right].every((one) => one !== null);
    const [a, b] = [left, right].map((side) => sumDecimals(side.filter((one) => one !== null))) as [string, string];
    return known && compareDecimals(a, b) !== 0 ? [`${what} (${a} is not ${b})`] : [];
  };
  const broken = IDENTITIES.flatMap(({ identity, result, terms }) => {
    const signed = terms.map(({ minus, name }) => (minus ? negated(answer, name) : amountOf(answer, name)));
    return compare(identity, signed, [amountOf(answer, result)]);
  });
  for (const [name, value] of Object.entries(answer)) {
    const rows = Array.isArray(value) ? value.filter(isObject) : [];
    const of = (field: string): (string | null)[] => rows.map((row) => amountOf(row, field));
    const isEntry = rows.length > 0 && [...of("debit"), ...of("credit")].every((one) => one !== null);
    if (isEntry) broken.push(...compare(`${name}: debit = credit`, of("debit"), of("credit")));
    for (const field of WHOLES.includes(name) ? Object.keys(rows[0] ?? {}) : [])
      broken.push(...compare(`sum of ${name} ${field} = ${field}`, of(field), [amountOf(answer, field)]));
    if (depth < 2 && !isEntry) broken.push(...[value, ...rows].flatMap((part) => brokenSums(part, depth + 1)));
  }
  return broken;
}

/** The same for the parameters of a call. One leg of an entry, with nothing on its other side, is not a balance. */
export function brokenCallSums(params: Json): string[] {
  const isLeg = isObject(params) && ["debit", "credit"].some((side) => /^[-0.]*$/.test(amountOf(params, side) ?? "1"));
  return brokenSums(params).filter((one) => !isLeg || !one.startsWith("debit = credit"));
}

const amountOf = (fields: Fields, name: string): string | null => (isAmount(fields[name]) ? String(fields[name]) : null);
const negated = (fields: Fields, name: string): string | null =>
  amountOf(fields, name)?.replace(/^-?/, (sign) => (sign === "" ? "-" : "")) ?? null;
