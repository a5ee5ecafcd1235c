/**
 * A policy document passed with a run, from outside and untrusted. JSON rules are evaluated in addition to the workspace's own and can
 * only make the verdict stricter; anything not understood, in a rule or in the document, demands approval and says why.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { parseCondition } from "./condition.ts";
import { levelName } from "./levels.ts";
import { type Action, type Rule, type RuleSet, actionOf } from "./verdict.ts";

const SOURCE = "given";
// No person writes a longer document for one run.
const MAX_LENGTH = 65_536;
const MAX_RULES = 200;

/** Text without rules that could be evaluated. */
export const isProse = (text: string): boolean => text.trim() !== "" && !/^\s*[{[]/.test(text);

/** Null when there is no document. Its rules see `facts`, to which a caller adds the facts of the run. */
export function readGiven(text: string | undefined): RuleSet | null {
  if (text === undefined || text.trim() === "") return null;
  const set = (rules: Rule[], facts: Record<string, Json> = {}): RuleSet => ({
    source: SOURCE,
    rules,
    facts,
    kinds: new Map(),
    thresholds: {},
    loose: true,
  });
  if (isProse(text)) return set([always("GIVEN_PROSE", "the policy given with the run is prose; a person reads it")]);
  const unreadable = (why: string): RuleSet => set([always("GIVEN_UNREADABLE", `the policy given with the run cannot be read: ${why}`)]);
  if (text.length > MAX_LENGTH) return unreadable(`it is longer than ${MAX_LENGTH} characters`);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    return unreadable(error instanceof Error ? error.message : String(error));
  }
  const { rules, context = {} } = document as { rules?: unknown; context?: unknown };
  if (!Array.isArray(rules)) return unreadable('it has no list "rules"');
  if (rules.length > MAX_RULES) return unreadable(`it has more than ${MAX_RULES} rules`);
  if (typeof context !== "object" || context === null || Array.isArray(context)) return unreadable('its "context" is not an object');
  const read = rules.map((rule, index) => readRule(rule, index + 1));
  return set(read, context as Record<string, Json>);
}

function readRule(value: unknown, number: number): Rule {
  const { id, condition, action, level, description } = (value ?? {}) as Record<string, unknown>;
  const text = (one: unknown): string => (typeof one === "string" ? one.trim() : "");
  const rule: Omit<Rule, "when" | "action"> = {
    ...always(text(id).slice(0, 100) || `GIVEN_${number}`, text(description).slice(0, 500)),
    level: levelName(text(level).slice(0, 100)) || null,
  };
  // An unknown action word demands approval (spec/worker.md 7.4 R).
  const known: Action = actionOf(text(action)) ?? "require_approval";
  try {
    return { ...rule, when: parseCondition(text(condition)), action: known };
  } catch (error) {
    if (!(error instanceof ClearedError)) throw error;
    return { ...rule, ...always(rule.id, `its condition cannot be read: ${error.message}`), level: rule.level };
  }
}

function always(id: string, description: string): Rule {
  return {
    id,
    when: { op: "constant", value: true },
    action: "require_approval",
    level: null,
    approvals: 1,
    distinct_from_requester: false,
    description,
  };
}
