/** Why a rule applies, in the words of its condition and the values it saw: `variance_pct 2.2265625 > 2`. For people; nothing decides by it. */
import type { Json } from "../../kernel/ports.ts";
import { type Atom, type Condition, type Operand, printOperand } from "./condition.ts";
import { type Scope, evaluate, fieldValue } from "./evaluate.ts";

/** The comparisons that made a condition true, joined by "and"; empty for a rule that always applies. */
export function because(condition: Condition, scope: Scope): string {
  if (condition.op === "compare" || condition.op === "in") return atom(condition, scope);
  return [...new Set(reasons(condition, scope, true))].join(" and ");
}

/** `wanted`: whether the condition counts where it is true, or (below a `not`) where it is false. */
function reasons(condition: Condition, scope: Scope, wanted: boolean): string[] {
  if (condition.op === "constant" || evaluate(condition, scope, true) !== wanted) return [];
  if (condition.op === "and" || condition.op === "or") return condition.terms.flatMap((term) => reasons(term, scope, wanted));
  if (condition.op === "not") return reasons(condition.term, scope, !wanted);
  return [`${wanted ? "" : "not "}${atom(condition, scope)}`];
}

function atom(one: Atom, scope: Scope): string {
  const field = `${one.field} ${shown(fieldValue(one.field, scope))}`;
  if (one.op === "is") return one.field;
  if (one.op === "in") return `${field} ${one.negated ? "not in" : "in"} [${one.list.map((operand) => value(operand, scope)).join(", ")}]`;
  return `${field} ${one.op === "contains" ? "contains" : one.relation} ${value(one.operand, scope)}`;
}

/** A threshold or another field as its value, everything else as it is written. */
function value(operand: Operand, scope: Scope): string {
  const named = operand.kind === "word" ? fieldValue(operand.text, scope) : undefined;
  return named === undefined ? printOperand(operand) : shown(named);
}

function shown(fact: Json | undefined): string {
  const text = typeof fact === "string" ? fact : fact === undefined ? "nothing" : JSON.stringify(fact);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
