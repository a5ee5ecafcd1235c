/**
 * What the rules of all policies say about the facts of a run: the strictest triggered rule decides, and a rule that cannot be decided
 * demands approval at its level. Adding a rule never makes the verdict milder.
 */
import type { Demanded, Verdict, VerdictWord, Json } from "../../kernel/ports.ts";
import { NOBODY } from "../../kernel/text.ts";
import { STRICTNESS } from "../../kernel/verdict.ts";
import { normalText } from "../grounding.ts";
import { type Condition, type Atom, type Operand, namesIn, printOperand } from "./condition.ts";
import { type Scope, evaluate, unknownFields, fieldValue } from "./evaluate.ts";
import { type Ladder, strictest } from "./levels.ts";

export type Action = Exclude<VerdictWord, "pass">;

export interface Rule {
  id: string;
  when: Condition;
  action: Action;
  level: string | null;
  approvals: number;
  distinct_from_requester: boolean;
  description: string;
}

/** The rules of one source, with what their conditions can see. */
export interface RuleSet extends Scope {
  source: string;
  rules: readonly Rule[];
  /** The fact that holds the id of whoever requested the case, who may not approve it. */
  requester?: string;
  /** The currency of its figures, if the amounts of the facts are in another. */
  unit?: string;
}

const WORDS: Record<Action, string> = {
  block: "block deny reject forbidden prohibited",
  require_approval: "require_approval approve approval_required",
  escalate: "escalate escalation_required raise",
  inform: "inform warn flag notify alert log audit",
};
const ACTIONS = new Map(Object.entries(WORDS).flatMap(([action, words]) => words.split(" ").map((word) => [word, action as Action])));

/** Every word a rule may use as its action (spec/worker.md 7.4). */
export const ACTION_WORDS: readonly string[] = [...ACTIONS.keys()];

/** The action that a word means, or null. */
export const actionOf = (word: string): Action | null => ACTIONS.get(word.trim().toLowerCase()) ?? null;

const SAYS: Record<VerdictWord, string> = {
  pass: "no rule applies",
  inform: "passed with a note",
  require_approval: "approval required",
  escalate: "escalated",
  block: "blocked",
};

/** The verdict without the hashes of its inputs. */
export type Judgement = Omit<Verdict, "inputs_hash" | "policy_hash">;

export function judge(sets: readonly RuleSet[], ladder: Ladder): Judgement {
  const triggered: Verdict["triggered"] = [];
  const indeterminate: Verdict["indeterminate"] = [];
  const fired: Rule[] = [];
  let strict = 0;
  const requires = { approvals: 0, distinct: false };
  const demand = (rule: Rule, action: Action): void => {
    fired.push(rule);
    strict = Math.max(strict, STRICTNESS.indexOf(action));
    if (action === "inform") return;
    requires.approvals = Math.max(requires.approvals, rule.approvals);
    requires.distinct ||= rule.distinct_from_requester;
  };
  for (const set of sets) {
    // A policy without rules decides nothing, so a person does.
    if (set.rules.length === 0) {
      indeterminate.push({ rule: set.source, missing: ["rules"] });
      strict = Math.max(strict, STRICTNESS.indexOf("require_approval"));
      requires.approvals = Math.max(requires.approvals, 1);
    }
    for (const rule of set.rules) {
      const decided = evaluate(rule.when, set, false);
      // Where amounts are in another currency, a small percentage beside them does not decide for them.
      const foreign = set.unit === undefined ? [] : namesIn(rule.when).filter((name) => set.kinds.get(name) === "money");
      const truth = decided === false && foreign.length > 0 ? null : decided;
      // A missing flag counts as false where that triggers a rule that stops the run, and as unknown where it would let the run continue.
      if (truth ?? (rule.action !== "inform" && evaluate(rule.when, set, true))) {
        const why = because(rule.when, set);
        const { id, action, level, description } = rule;
        triggered.push({ rule: id, action, level, description, because: why, source: set.source });
        demand(rule, action);
      } else if (truth === null) {
        const unit = (name: string) => (set.unit !== undefined && set.kinds.get(name) === "money" ? `${name} in ${set.unit}` : name);
        indeterminate.push({ rule: rule.id, missing: (decided === null ? unknownFields(rule.when, set) : foreign).map(unit) });
        demand(rule, "require_approval");
      }
    }
  }
  const verdict = STRICTNESS[strict] ?? "pass";
  const demanded = fired.flatMap((rule) => rule.level ?? []);
  const { level, levels } = strictest(ladder, demanded);
  const has = (action: Action): boolean => triggered.some((one) => one.action === action);
  const requesters = new Set(sets.flatMap((set) => (set.requester === undefined ? [] : idIn(set.facts[set.requester]))));
  return {
    verdict,
    passed: verdict === "pass" || verdict === "inform",
    blocked: verdict === "block",
    requires_approval: has("require_approval") || indeterminate.length > 0,
    escalation_required: has("escalate"),
    level,
    levels,
    approvals: requires.approvals,
    distinct_from_requester: requires.distinct,
    ...(requesters.size === 0 ? {} : { requesters: [...requesters] }),
    triggered,
    indeterminate,
    summary: summarize({ verdict, level, triggered, indeterminate }),
  };
}

/** What the rules ask for at most, whatever the facts are. */
export function judgeStrictest(sets: readonly RuleSet[], ladder: Ladder): Demanded {
  const rules = sets.flatMap((set) => set.rules).filter(({ action }) => action !== "inform");
  return {
    ...strictest(
      ladder,
      rules.flatMap((rule) => rule.level ?? []),
    ),
    approvals: Math.max(1, ...rules.map((rule) => rule.approvals)),
    distinct_from_requester: rules.some((rule) => rule.distinct_from_requester),
  };
}

/** A requester who is not known could be anyone; so could one whose id was redacted: marks stand in brackets, which no id has. */
const idIn = (fact: Json | undefined): string => {
  const id = typeof fact === "string" || typeof fact === "number" ? String(fact).trim() : "";
  return normalText(id) === "" || /[[\]]/.test(id) ? NOBODY : id;
};

type Summarized = Pick<Verdict, "verdict" | "level" | "triggered" | "indeterminate">;
function summarize({ verdict, level, triggered, indeterminate }: Summarized): string {
  const parts = [
    ...triggered.map((one) => `${one.because === "" ? one.description || "always" : one.because} (rule ${one.rule}, ${one.source})`),
    ...indeterminate.map((one) => `${one.rule} cannot be decided without ${one.missing.join(", ") || "its facts"}`),
  ];
  const who = level === null || verdict === "pass" || verdict === "inform" ? "" : ` (${level})`;
  return [`${SAYS[verdict]}${who}`, ...parts].join("; ");
}

/** The comparisons that made a condition true, joined by "and"; empty for a rule that always applies. */
export function because(condition: Condition, scope: Scope): string {
  if (condition.op === "compare" || condition.op === "in") return atom(condition, scope);
  return [...new Set(reasons(condition, scope, true))].join(" and ");
}

/** `wanted`: whether the condition counts if true, or (below a `not`) if false. */
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

/** A threshold or another field as its value, everything else as written. */
function value(operand: Operand, scope: Scope): string {
  const named = operand.kind === "word" ? fieldValue(operand.text, scope) : undefined;
  return named === undefined ? printOperand(operand) : shown(named);
}

function shown(fact: Json | undefined): string {
  const text = typeof fact === "string" ? fact : fact === undefined ? "nothing" : JSON.stringify(fact);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
