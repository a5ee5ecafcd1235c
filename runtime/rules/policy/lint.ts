/**
 * Problems of a policy that are known before any run: fields and kinds against the declared facts, conditions that are never true, rules
 * that never apply without a stricter one. A condition is split into alternatives of atoms; two atoms on one field that exclude each other
 * make an alternative impossible. Only what is certainly impossible is reported.
 */
import { didYouMean } from "../../kernel/errors.ts";
import { plainDecimal } from "../../kernel/money.ts";
import type { Json } from "../../kernel/ports.ts";
import { STRICTNESS } from "../../kernel/verdict.ts";
import { type Atom, type Condition, type Operand, atomsOf, isOrdered, operandsOf, print, printOperand, wordsIn } from "./condition.ts";
import { compareDates, dayOrMoment, compareDecimals, isDecimal } from "./values.ts";
import { type Kind, type Scope, holds, fieldValue } from "./evaluate.ts";
import { type Ladder, meetsLevel } from "./levels.ts";
import type { Rule } from "./verdict.ts";

export interface PolicyFinding {
  path: readonly (string | number)[];
  message: string;
  /** A warning does not refuse the policy. */
  warning: boolean;
}

// Alternatives of one condition: more are not examined.
const MAX_ALTERNATIVES = 256;

/** Findings about rules of a policy with declared facts; paths begin at the policy. */
export function lintRules(rules: readonly Rule[], scope: Scope, ladder: Ladder): PolicyFinding[] {
  const found: PolicyFinding[] = [];
  const say = (path: (string | number)[], message: string, warning = false): void => void found.push({ path, message, warning });
  const used = new Set<string>();
  for (const [index, rule] of rules.entries()) {
    const at = ["rules", index, "when"];
    for (const atom of atomsOf(rule.when)) {
      for (const name of [atom.field, ...wordsIn(atom)]) used.add(name);
      for (const message of checkAtom(atom, scope)) say(at, message);
    }
    if (found.every(({ path }) => path[1] !== index) && isImpossible(rule.when, scope))
      say(at, `\`${print(rule.when)}\` can never be true, so ${rule.id} would never apply. Correct one of its comparisons.`);
    const twin = rules.findIndex((other) => other.id === rule.id);
    if (twin < index) say(["rules", index, "id"], `The id ${rule.id} is used twice; give each rule its own.`);
  }
  for (const name of Object.keys(scope.thresholds))
    if (!used.has(`threshold.${name}`)) say(["thresholds", name], `No rule uses threshold.${name}, so changing it changes nothing.`, true);
  if (found.some((one) => !one.warning)) return found;
  for (const [index, rule] of rules.entries()) {
    const over = rules.find((other, place) => other !== rule && isShadowed(rule, other, place < index, scope, ladder));
    const message = `${rule.id} changes nothing: ${over?.id} applies whenever it does and is as strict. Tighten it or remove it.`;
    if (over !== undefined) say(["rules", index, "id"], message, true);
  }
  return found;
}

/** Kind of a field by its declaration, of a threshold by its value. Undefined when neither exists. */
function kindOf(field: string, { kinds, thresholds }: Scope): Kind | undefined {
  if (!field.startsWith("threshold.")) return kinds.get(field);
  const value = fieldValue(field, { kinds, thresholds, facts: {}, loose: false });
  return value === undefined ? undefined : Array.isArray(value) ? "list" : isDecimal(value) ? "decimal" : "date";
}

function checkAtom(atom: Atom, scope: Scope): string[] {
  const ordered = isOrdered(atom);
  const fields = [atom.field, ...wordsIn(atom).filter((word) => ordered || word.startsWith("threshold."))];
  const lost = fields.filter((name) => kindOf(name, scope) === undefined);
  const kind = kindOf(atom.field, scope);
  if (lost.length > 0 || kind === undefined) return lost.map((name) => undeclared(name, scope));
  const wrong = (wants: string): string[] => [`\`${print(atom)}\`: ${atom.field} is declared as ${kind}, ${wants}.`];
  if (atom.op === "is") return kind === "boolean" ? [] : wrong("and only a boolean can stand alone; compare it with something");
  if (atom.op === "contains") return kind === "text" || kind === "list" ? [] : wrong("and only text and lists contain something");
  if (kind === "list") return wrong("and a list is tested with contains");
  if (ordered && (kind === "text" || kind === "boolean")) return wrong("which has no order");
  return operandsOf(atom).flatMap((operand) => {
    const other = operandKind(operand, scope);
    const fits = (other === "null" && !ordered) || (atom.op === "in" && other === "list") || (kind === "text" && operand.kind === "text");
    return fits || group(other) === group(kind) ? [] : wrong(`and ${printOperand(operand)} is ${other}`);
  });
}

/** Says that a fact or threshold is not declared, with the nearest declared one. */
export function undeclared(name: string, { kinds, thresholds }: Scope): string {
  const isThreshold = name.startsWith("threshold.");
  const names = isThreshold ? Object.keys(thresholds).map((one) => `threshold.${one}`) : kinds.keys();
  return `${name} is not declared under ${isThreshold ? "thresholds" : "facts"}:.${didYouMean(name, names)}`;
}

const group = (kind: Kind | "null"): string => (kind === "money" ? "decimal" : kind);

function operandKind(operand: Operand, scope: Scope): Kind | "null" {
  if (operand.kind === "number") return "decimal";
  if (operand.kind === "word") return kindOf(operand.text, scope) ?? "text";
  if (operand.kind !== "text") return operand.kind;
  return isDecimal(operand.text) ? "decimal" : dayOrMoment(operand.text) === null ? "text" : "date";
}

/** An atom that must be true (`yes`) or false. */
interface Wanted {
  atom: Atom;
  yes: boolean;
}

/** The alternatives that make a condition true (or false, for `yes` false), each a list of atoms; null when there are too many. */
function alternatives(condition: Condition, yes: boolean): Wanted[][] | null {
  if (condition.op === "not") return alternatives(condition.term, !yes);
  if (condition.op === "constant") return condition.value === yes ? [[]] : [];
  if (condition.op !== "and" && condition.op !== "or") return [[{ atom: condition, yes }]];
  let all: Wanted[][] = (condition.op === "and") === yes ? [[]] : [];
  for (const term of condition.terms) {
    const more = alternatives(term, yes);
    if (more === null) return null;
    all = (condition.op === "and") === yes ? all.flatMap((one) => more.map((other) => [...one, ...other])) : [...all, ...more];
    if (all.length > MAX_ALTERNATIVES) return null;
  }
  return all;
}

function isImpossible(condition: Condition, scope: Scope): boolean {
  const all = alternatives(condition, true);
  return all?.every((wanted) => wanted.some((one, i) => wanted.slice(0, i).some((other) => excludes(one, other, scope)))) === true;
}

const FLIPPED = { "==": "!=", "!=": "==", ">": "<=", "<=": ">", "<": ">=", ">=": "<" } as const;

/** True when the two can never hold together. */
function excludes(a: Wanted, b: Wanted, scope: Scope): boolean {
  if (a.atom.field !== b.atom.field) return false;
  if (print(a.atom) === print(b.atom)) return a.yes !== b.yes;
  if (a.atom.op === "compare" && b.atom.op === "compare") {
    const order = orderOf(a.atom.operand, b.atom.operand, kindOf(a.atom.field, scope) === "text", scope);
    if (order !== null) {
      const [first, second] = [a, b].map(({ atom, yes }) => {
        const { relation } = atom as Extract<Atom, { op: "compare" }>;
        return yes ? relation : FLIPPED[relation];
      });
      // Both values on a line of five places: below, the lower, between, the upper, above.
      const [x, y] = [order < 0 ? 1 : order === 0 ? 2 : 3, order < 0 ? 3 : order === 0 ? 2 : 1];
      return ![0, 1, 2, 3, 4].some((place) => holds(first ?? "==", place - x) && holds(second ?? "==", place - y));
    }
  }
  const [left, right] = [wordsOf(a, scope), wordsOf(b, scope)];
  if (left === null || right === null || (!left.only && !right.only)) return false;
  if (left.only && right.only) return left.words.every((word) => !right.words.includes(word));
  const [only, never] = left.only ? [left, right] : [right, left];
  return never.exact ? false : only.words.every((word) => never.words.includes(word));
}

/** Order of two operands: 0 when they are the same, or, unless they are text, as numbers and days. Null when unknown. */
function orderOf(a: Operand, b: Operand, asText: boolean, scope: Scope): number | null {
  if (printOperand(a) === printOperand(b)) return 0;
  if (asText) return null;
  const [x, y] = [a, b].map((one): Json | undefined =>
    one.kind === "word" ? fieldValue(one.text, { ...scope, facts: {} }) : "text" in one ? one.text : undefined,
  );
  if (x === undefined || y === undefined) return null;
  if (isDecimal(x) && isDecimal(y)) return compareDecimals(x, y);
  return typeof x === "string" && typeof y === "string" ? compareDates(x, y) : null;
}

/** The words that a field must be one of (`only`) or none of; `exact`: case-sensitive. Null for atoms about something else. */
function wordsOf({ atom, yes }: Wanted, scope: Scope): { words: string[]; only: boolean; exact: boolean } | null {
  const isEqual = atom.op === "compare" && (atom.relation === "==" || atom.relation === "!=");
  if (atom.op !== "in" && !isEqual) return null;
  const positive = atom.op === "in" ? !atom.negated : atom.op === "compare" && atom.relation === "==";
  const words: string[] = [];
  for (const operand of operandsOf(atom)) {
    const value =
      operand.kind === "word" && kindOf(operand.text, scope) !== undefined
        ? fieldValue(operand.text, { ...scope, facts: {} })
        : printed(operand);
    if (value === undefined) return null;
    const asText = kindOf(atom.field, scope) === "text";
    words.push(...[value].flat().map((one) => (asText ? null : plainDecimal(one)) ?? String(one).toLowerCase()));
  }
  return { words, only: positive === yes, exact: isEqual };
}

const printed = (operand: Operand): string => ("text" in operand ? operand.text : printOperand(operand));

/** True when `over` applies wherever the rule does, demands no less, and, if the two are equal, comes first. */
function isShadowed(rule: Rule, over: Rule, isFirst: boolean, scope: Scope, ladder: Ladder): boolean {
  if (rule.action === "inform" || !demandsAtLeast(over, rule, ladder) || !implies(rule, over, scope)) return false;
  return isFirst || !demandsAtLeast(rule, over, ladder) || !implies(over, rule, scope);
}

/** True when `a` certainly applies only where `b` does; false also when that is unknown. */
export const implies = (a: Pick<Rule, "when">, b: Pick<Rule, "when">, scope: Scope): boolean =>
  isImpossible({ op: "and", terms: [a.when, { op: "not", term: b.when }] }, scope);

/** True when `over` demands no less than `rule`, wherever both apply. */
export function demandsAtLeast(over: Rule, rule: Rule, ladder: Ladder): boolean {
  return (
    STRICTNESS.indexOf(over.action) >= STRICTNESS.indexOf(rule.action) &&
    over.approvals >= rule.approvals &&
    (over.distinct_from_requester || !rule.distinct_from_requester) &&
    (rule.level === null || (over.level !== null && meetsLevel(ladder, [over.level], rule.level)))
  );
}
