/**
 * What the answer of a process must hold (spec/worker.md 17.1). Scripts return typed objects, checked by `missingFields`; a text answer is
 * checked by words, with their boundaries and with negation, by `validateText`.
 */
import { isDay } from "../../kernel/day.ts";
import { AMOUNT_PATTERN } from "../../kernel/money.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { compareDecimals, sumDecimals } from "../policy/values.ts";
import { type Fields, isObject } from "../tools/shape.ts";
import { isBracketAnswer } from "./ranked.ts";

/** `filled`: any value but an empty one. Each with what to write, for the message. */
const KINDS = {
  decision: "one of the decisions of the process",
  amount: 'decimal text such as "42.99"',
  text: "text",
  id: "an id that is not empty",
  count: "a whole number",
  list: "a list",
  day: "a day, YYYY-MM-DD",
  filled: "a value that is not empty",
} as const;
type Kind = keyof typeof KINDS;

const DECISIONS = ["approved", "rejected", "denied", "escalated", "blocked"];
const MORE_DECISIONS: Record<string, string[]> = {
  invoice_reconciliation: ["matched", "reconciled"],
  dispute_resolution: ["partial", "resolved", "credited"],
};

/**
 * A row: field=kind:signals; ... `!`: known before anything is decided, so an answer that was rejected, blocked or has expired holds it too.
 * The signals of a text answer are words, `$` for an amount, `#` for an id, `@` for a day.
 */
const PROCESSES: Record<string, string> = {
  expense_approval:
    "decision=decision:approved|rejected|denied|approval|declined; amount!=amount:$|amount; requester!=text:requester|employee|submitted by|claimed by; reason=text:reason|because|justification|policy",
  invoice_reconciliation:
    "decision=decision:approved|rejected|matched|3-way match|reconciled; amount!=amount:$|amount|total; vendor!=text:vendor|supplier|from; variance!=amount:variance|difference|discrepancy|match",
  procurement:
    "po_number=id:po|purchase orders?|order number; vendor!=text:vendor|supplier|from; amount!=amount:$|amount|total; approval=text:approved|approval required|pending approval",
  hr_offboarding:
    "access!=filled:access revoked|deactivated|suspended|removed; systems!=list:github|slack|jira|okta|aws|systems?|accounts?; equipment!=filled:equipment|laptop|hardware|return(?:ed)?",
  payroll:
    "gross!=amount:gross; net!=amount:net|take-home; deductions!=amount:deductions?|tax|taxes|withholding; headcount!=count:employees|headcount|staff",
  sla_breach:
    "credit!=amount:$|credit|compensation; breach!=filled:breach|violation|downtime|duration; customer!=text:customer|client|account",
  month_end_close:
    "period!=text:period|month|quarter|closed|locked; balance!=amount:balance|p&l|net; approval=text:approved|signed off|cfo|controller",
  ar_collections:
    "amount!=amount:$|overdue|outstanding|balance; action=filled:email sent|called|notice|payment plan|collections?; aging!=filled:30|60|90|days|aging",
  compliance_audit:
    "findings!=list:findings?|issues?|non-compliance|controls?; score!=filled:score|compliant|pass|fail|rating; actions=list:remediation|actions?|deadline|owner",
  dispute_resolution:
    "decision=decision:approved|rejected|partial|resolved|credit; amount!=amount:$|credit amount|refund; reason=text:reason|because|evidence|determination",
  subscription_migration:
    "plan!=text:plan|tier|subscription; billing!=filled:$|charge|refund|credit|billing; effective=day:effective|date|migration date|starting|@",
  order_management:
    "order_id!=id:orders?|order number|confirmation; total!=amount:$|total|amount charged; fulfillment=filled:ship(?:s|ped)?|deliver(?:y|ed)?|fulfillment|estimated",
  incident_response:
    "severity!=text:p[1-4]|sev ?\\d?|severity|critical; resolution=text:resolved|mitigated|fixed|closed|restored; impact!=filled:affected|customers|impact|duration",
  customer_onboarding:
    "account_id=id:account|id|provisioned|created; csm=text:csm|success manager|assigned|owner; next_step=filled:next|kickoff|milestone|schedule",
};
const GENERAL =
  "decision_or_status=text:approved|rejected|denied|declined|decision|status|completed|resolved|closed|pending|escalated|paid|done; " +
  "action_taken=filled:updated|created|sent|processed|paid|closed|resolved|cancelled|issued|notified|assigned|scheduled|action taken; " +
  "key_entity!=id:#|$|@|invoice|customer|vendor|employee|contract|ticket|account";
const UNIVERSAL = "summary=text:summary|completed|result|outcome|to summarize";

function fieldsOf(process: string) {
  const row = Object.hasOwn(PROCESSES, process) ? PROCESSES[process] : GENERAL;
  return `${row}; ${UNIVERSAL}`.split("; ").map((field) => {
    const [, name = "", early = "", kind = "", signals = ""] = /^(\w+)(!?)=(\w+):(.*)$/.exec(field) ?? [];
    return { name, kind: kind as Kind, early: early !== "", signals: signals.split(/\|(?![^(]*\))/) };
  });
}

/** Names of the fields a process must answer, in order; those of `general` for a process that is not listed. */
export const requiredFields = (process: string): string[] => fieldsOf(process).map((field) => field.name);

/** A field of the header's `output:`. */
export interface OutputField {
  type: string;
  /** Required unless it says false. */
  required?: boolean | undefined;
}

const BY_TYPE: Record<string, Kind> = { string: "text", money: "amount", date: "day", list: "list", integer: "count" };

/**
 * Required fields of a result that are absent or of another kind, each with what it wants: `decision (one of approved, ...)`.
 * process: null when the header names none. A process that is not listed and declares its output answers for that alone.
 * A ranked list has no fields: the caller does not ask. `ended`: a person, a policy or time said no, so only what was known before counts.
 */
export function missingFields(process: string | null, output: Record<string, OutputField>, result: Json, ended = false): string[] {
  const fields = isObject(result) ? result : {};
  const declared = Object.entries(output).filter(([, one]) => one.required !== false && !ended);
  const listed = process !== null && (Object.hasOwn(PROCESSES, process) || declared.length === 0);
  const wanted = new Map<string, Kind>(declared.map(([name, one]) => [name, BY_TYPE[one.type] ?? "filled"]));
  if (listed) for (const { name, kind, early } of fieldsOf(process)) if (early || !ended) wanted.set(name, kind);
  const decisions = [...DECISIONS, ...(MORE_DECISIONS[process ?? ""] ?? [])];
  return [...wanted]
    .filter(([name, kind]) => !fits(kind, Object.hasOwn(fields, name) ? fields[name] : undefined, decisions))
    .map(([name, kind]) => `${name} (${kind === "decision" ? `one of ${decisions.join(", ")}` : KINDS[kind]})`);
}

/** @throws OUTPUT_INCOMPLETE for an answer that lacks a field or, with `sums`, does not add up */
export function assertWhole(result: Json, of: { process: string | null; output: Record<string, OutputField>; sums: boolean }): void {
  const missing = missingFields(of.process, of.output, result);
  const wrong = of.sums ? brokenSums(result) : [];
  const lacks = missing.length === 0 ? [] : [`lacks ${missing.join(", ")}`];
  const why = [...lacks, ...wrong.map((one) => `does not add up: ${one}`)].join("; it ");
  if (why === "") return;
  const message = `The answer ${why}. The header's output: and its process say what the script's last expression must hold.`;
  throw new ClearedError("OUTPUT_INCOMPLETE", message, { data: { missing, wrong } });
}

function fits(kind: Kind, value: Json | undefined, decisions: readonly string[]): boolean {
  switch (kind) {
    case "decision":
      return typeof value === "string" && decisions.includes(value);
    case "amount":
      return typeof value === "string" && AMOUNT_PATTERN.test(value);
    case "text":
      return typeof value === "string" && value.trim() !== "";
    case "id":
      return (typeof value === "string" && value.trim() !== "") || Number.isSafeInteger(value);
    case "count":
      return Number.isSafeInteger(value);
    case "list":
      return Array.isArray(value);
    case "day":
      return typeof value === "string" && isDay(value);
    case "filled":
      if (value === undefined || value === null) return false;
      return typeof value === "object" ? Object.keys(value).length > 0 : String(value).trim() !== "";
  }
}

/** What holds within an object whose fields have these names; and lists that are the whole of what their object names as they do. */
const IDENTITIES = ["net + deductions = gross", "net + tax = gross", "cost + fee - credit = net", "debit = credit"];
const WHOLES = ["slips", "lines", "parts", "shares", "departments", "allocation"];

/**
 * The sums of an answer that do not come out, with both sides (spec/worker.md 15): net + deductions = gross, debit = credit, the parts of a
 * list = their total. Answers are flat: three levels are looked at.
 */
export function brokenSums(answer: Json, depth = 0): string[] {
  if (!isObject(answer)) return [];
  const compare = (what: string, left: (string | null)[], right: (string | null)[]): string[] => {
    const known = [...left, ...right].every((one) => one !== null);
    const [a, b] = [left, right].map((side) => sumDecimals(side.filter((one) => one !== null))) as [string, string];
    return known && compareDecimals(a, b) !== 0 ? [`${what} (${a} is not ${b})`] : [];
  };
  const broken = IDENTITIES.flatMap((identity) => {
    const [terms = "", result = ""] = identity.split(" = ");
    const signed = [...terms.matchAll(/(- )?(\w+)/g)].map(([, minus, name = ""]) =>
      minus === undefined ? amountOf(answer, name) : negated(answer, name),
    );
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

/** The same for what a call would write. One leg of an entry, with nothing on its other side, is no balance. */
export function brokenCallSums(params: Json): string[] {
  const isLeg = isObject(params) && ["debit", "credit"].some((side) => /^[-0.]*$/.test(amountOf(params, side) ?? "1"));
  return brokenSums(params).filter((one) => !isLeg || !one.startsWith("debit = credit"));
}

const amountOf = (fields: Fields, name: string): string | null => (fits("amount", fields[name], []) ? String(fields[name]) : null);
const negated = (fields: Fields, name: string): string | null =>
  amountOf(fields, name)?.replace(/^-?/, (sign) => (sign === "" ? "-" : "")) ?? null;

const SIGNS: Record<string, string> = {
  $: "[$€£]\\s?\\d|(?<![\\w.])\\d[\\d,]{0,30}\\.\\d\\d(?![\\w.])",
  "#": "(?<!\\w)[A-Z]{2,8}-\\d[\\w-]*",
  "@": "(?<!\\d)\\d{4}-\\d\\d-\\d\\d(?!\\d)",
};
function shapeOf(signals: readonly string[]): RegExp {
  const signs = signals.filter((one) => one in SIGNS).map((one) => SIGNS[one]);
  // Ids are written in capitals; words in any case.
  const words = signals
    .filter((one) => !(one in SIGNS))
    .map((word) => word.replace(/[a-z](?![^(]*\))/g, (letter) => `[${letter}${letter.toUpperCase()}]`));
  return new RegExp([`(?<!\\w)(?:${words.join("|")})(?!\\w)`, ...signs].join("|"), "g");
}

// A claim is void after one of these; a noun is not: "no variance" tells the variance.
const NOT = /(?:\b(?:not|never|without|cannot|neither|nor|no)|n['’]t)(?:\s+(?:yet|been|be|have|has|was|is|fully|access))*\s+$/i;
const isClaim = (word: string): boolean => /(?:ed|off|paid|sent|done)$/i.test(word);
const holds = (text: string, at: number, word: string): boolean => !isClaim(word) || !NOT.test(text.slice(Math.max(0, at - 40), at));

/**
 * Whether a text answer tells the fields of a process. A bracket answer has none to tell. coverage: share of the fields that are present, two
 * decimals. decision: what the text decides, read with negation: "not approved" is a rejection. Null when it decides nothing, or both.
 */
export function validateText(process: string, text: string) {
  if (isBracketAnswer(text)) return { valid: true, coverage: 1, present: [], missing: [], decision: null };
  const fields = fieldsOf(process);
  const said = [...text.matchAll(/(?<!\w)(approved|rejected|denied|declined)(?!\w)/gi)].map(
    (match) => (match[1]?.toLowerCase() === "approved") === holds(text, match.index, match[0]),
  );
  const decision = said.length === 0 || new Set(said).size > 1 ? null : said[0] ? "approved" : "rejected";
  const tells = ({ kind, signals }: (typeof fields)[number]): boolean =>
    (kind === "decision" && decision !== null) || [...text.matchAll(shapeOf(signals))].some((match) => holds(text, match.index, match[0]));
  const present = fields.filter(tells).map((field) => field.name);
  const missing = fields.map((field) => field.name).filter((name) => !present.includes(name));
  return { valid: missing.length === 0, coverage: Math.round((present.length / fields.length) * 100) / 100, present, missing, decision };
}
