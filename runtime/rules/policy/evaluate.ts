/**
 * Conditions on facts in three values (Kleene): true, false, and null for unknown. A missing fact, text where a number
 * belongs ("6,000") or a wrong kind is unknown, never false (spec/worker.md 7.6).
 */
import type { Json } from "../../kernel/ports.ts";
import { type Condition, type Operand, type Relation, isOrdered, operandsOf } from "./condition.ts";
import { compareDates, dayOrMoment, compareDecimals, isDecimal } from "./values.ts";

export const KINDS = ["decimal", "money", "text", "boolean", "date", "list"] as const;
/** Kind of a declared fact. Money is decimal text, never a number; `any` is a known field without a declared kind. */
export type Kind = (typeof KINDS)[number] | "any";

/** What a condition is evaluated against. */
export interface Scope {
  facts: Readonly<Record<string, Json>>;
  /** The declared facts. */
  kinds: ReadonlyMap<string, Kind>;
  /** Values conditions name as `threshold.NAME`. */
  thresholds: Readonly<Record<string, Json>>;
  /** Undeclared facts count too. */
  loose: boolean;
}

type Truth = boolean | null;

const THRESHOLD = "threshold.";

/** Value of a field, or undefined: missing, not declared, or not of its kind. */
export function fieldValue(field: string, scope: Scope): Json | undefined {
  if (field.startsWith(THRESHOLD)) return own(scope.thresholds, field.slice(THRESHOLD.length));
  const kind = scope.kinds.get(field);
  if (kind === undefined && !scope.loose) return undefined;
  const value = lookUp(scope.facts, field);
  return value === undefined || value === null || isKind(value, kind ?? "any") ? value : undefined;
}

const own = (facts: Readonly<Record<string, Json>>, key: string): Json | undefined => (Object.hasOwn(facts, key) ? facts[key] : undefined);

function lookUp(facts: Readonly<Record<string, Json>>, field: string): Json | undefined {
  const flat = own(facts, field);
  const nested = field
    .split(".")
    .reduce<Json | undefined>(
      (at, key) => (typeof at === "object" && at !== null ? own(at as Record<string, Json>, key) : undefined),
      facts,
    );
  // Two values of one fact: a number of no kind, so that the result is unknown. Otherwise a key in a tool's answer could replace the fact.
  if (flat === undefined || nested === undefined) return flat === undefined ? nested : flat;
  return flat === nested ? flat : Number.NaN;
}

function isKind(value: Json, kind: Kind): boolean {
  if (kind === "decimal") return isDecimal(value);
  if (kind === "money") return typeof value === "string" && isDecimal(value);
  if (kind === "date") return typeof value === "string" && dayOrMoment(value) !== null;
  if (kind === "list") return Array.isArray(value);
  if (kind === "any") return typeof value !== "number" || Number.isFinite(value);
  return typeof value === (kind === "text" ? "string" : kind);
}

/** missingIsFalse: a missing bare field is false, the one exception of spec/worker.md 7.6. Verdicts use it only to make a rule fire. */
export function evaluate(condition: Condition, scope: Scope, missingIsFalse: boolean): Truth {
  switch (condition.op) {
    case "and":
    case "or": {
      const decisive = condition.op === "or";
      let unknown = false;
      for (const term of condition.terms) {
        const truth = evaluate(term, scope, missingIsFalse);
        if (truth === decisive) return decisive;
        if (truth === null) unknown = true;
      }
      return unknown ? null : !decisive;
    }
    case "not":
      return opposite(evaluate(condition.term, scope, missingIsFalse));
    case "constant":
      return condition.value;
    case "is":
      return isTrue(condition.field, scope, missingIsFalse);
    case "compare":
      return compare(condition.field, condition.relation, condition.operand, scope);
    case "in": {
      const found = isIn(fieldValue(condition.field, scope), condition.list, scope.kinds.get(condition.field) !== "text", scope);
      return condition.negated ? opposite(found) : found;
    }
    case "contains":
      return contains(fieldValue(condition.field, scope), operandValue(condition.operand, scope));
  }
}

const opposite = (truth: Truth): Truth => (truth === null ? null : !truth);

function isTrue(field: string, scope: Scope, missingIsFalse: boolean): Truth {
  const value = fieldValue(field, scope) ?? null;
  if (value === null) return missingIsFalse && (lookUp(scope.facts, field) ?? null) === null ? false : null;
  return typeof value === "object" ? Object.keys(value).length > 0 : Boolean(value);
}

/** A word is another field if the scope has one, else text. */
function operandValue(operand: Operand, scope: Scope): Json | undefined {
  switch (operand.kind) {
    case "boolean":
      return operand.value;
    case "null":
      return null;
    case "word":
      return isField(operand.text, scope) ? fieldValue(operand.text, scope) : operand.text;
    default:
      return operand.text;
  }
}

function isField(word: string, { kinds, loose, facts }: Scope): boolean {
  return word.startsWith(THRESHOLD) || kinds.has(word) || (loose && lookUp(facts, word) !== undefined);
}

function compare(field: string, relation: Relation, operand: Operand, scope: Scope): Truth {
  const left = fieldValue(field, scope);
  if (left === undefined) return null;
  const right = operandValue(operand, scope);
  if (right === undefined) return null;
  if (relation === "==" || relation === "!=") {
    const same = operand.kind === "null" ? left === null : equal(left, right, scope.kinds.get(field) === "text");
    return relation === "==" ? same : opposite(same);
  }
  const order = isDecimal(left) && isDecimal(right) ? compareDecimals(left, right) : datesInOrder(left, right);
  return order === null ? null : holds(relation, order);
}

const datesInOrder = (a: Json, b: Json): number | null => (typeof a === "string" && typeof b === "string" ? compareDates(a, b) : null);

/** Whether a relation holds for a difference: `>` for anything above zero. */
export function holds(relation: Relation, difference: number): boolean {
  if (relation === "==" || relation === "!=") return (difference === 0) === (relation === "==");
  return (difference === 0 && relation.length === 2) || (relation.startsWith(">") ? difference > 0 : difference < 0);
}

/** Numbers with numeric text, booleans with booleans, text with text as written; other pairs are unknown. */
function equal(a: Json, b: Json, asText: boolean): Truth {
  if (a === null || b === null) return null;
  if (!asText && isDecimal(a) && isDecimal(b)) return compareDecimals(a, b) === 0;
  if (typeof a === "string" && typeof b === "string") return a === b || (!asText && compareDates(a, b) === 0);
  return typeof a === "boolean" && typeof b === "boolean" ? a === b : null;
}

function isIn(value: Json | undefined, list: readonly Operand[], byValue: boolean, scope: Scope): Truth {
  if (value === undefined || value === null || typeof value === "object") return null;
  let unknown = false;
  for (const operand of list) {
    const isList = operand.kind === "word" && (operand.text.startsWith(THRESHOLD) || scope.kinds.get(operand.text) === "list");
    const found = isList ? fieldValue(operand.text, scope) : operand.kind === "word" ? operand.text : operandValue(operand, scope);
    for (const item of Array.isArray(found) ? found : [found ?? null]) {
      // "6,000" may mean the 6000 of the list.
      const same = operand.kind === "number" && !isDecimal(value) ? null : sameWord(value, item, byValue);
      if (same === true) return true;
      if (same === null) unknown = true;
    }
  }
  return unknown ? null : false;
}

function contains(value: Json | undefined, wanted: Json | undefined): Truth {
  if (value === undefined || value === null || wanted === undefined || wanted === null || typeof wanted === "object") return null;
  if (typeof value === "string") return value.toLowerCase().includes(String(wanted).toLowerCase());
  if (!Array.isArray(value)) return null;
  const found = value.map((item) => sameWord(item, wanted, false));
  return found.includes(true) ? true : found.includes(null) ? null : false;
}

/** Members are compared as words, ignoring case; numbers, and with `byValue` also numeric text, by value. */
function sameWord(a: Json, b: Json, byValue: boolean): Truth {
  if (a === null || b === null || typeof a === "object" || typeof b === "object") return null;
  if ((byValue || typeof a === "number" || typeof b === "number") && isDecimal(a) && isDecimal(b)) return compareDecimals(a, b) === 0;
  return String(a).toLowerCase() === String(b).toLowerCase();
}

/** The fields that leave a condition undecided, in the order it names them. */
export function unknownFields(condition: Condition, scope: Scope): string[] {
  if (evaluate(condition, scope, false) !== null) return [];
  const found = (): string[] => {
    if (condition.op === "and" || condition.op === "or") return condition.terms.flatMap((term) => unknownFields(term, scope));
    if (condition.op === "not") return unknownFields(condition.term, scope);
    if (condition.op === "constant") return [];
    const words = operandsOf(condition).flatMap((one) => (one.kind === "word" ? [one.text] : []));
    const others = words.filter((word) => isOrdered(condition) || isField(word, scope));
    const missing = [condition.field, ...others].filter((name) => (fieldValue(name, scope) ?? null) === null);
    return missing.length === 0 ? [condition.field] : missing;
  };
  return [...new Set(found())];
}
