/** Every vector of the policy module, through the parser and through a policy given with a run, and the inputs on which the original was wrong. */
import { expect, it } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { parseCondition } from "../../runtime/rules/policy/condition.ts";
import { evaluate } from "../../runtime/rules/policy/evaluate.ts";
import { readGiven } from "../../runtime/rules/policy/given.ts";
import { ladderSchema } from "../../runtime/rules/policy/levels.ts";
import { actionOf, judge } from "../../runtime/rules/policy/verdict.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { exceptions, vectors, wrongRows } from "../vectors/load.ts";

const FILE = "policy_checker.json";
const LADDER = ladderSchema.parse({});

function conditionOf({ condition, context }: Record<string, Json>): Json {
  try {
    const scope = { facts: context as Record<string, Json>, kinds: new Map(), thresholds: {}, loose: true };
    return evaluate(parseCondition(condition as string), scope, true) ?? "UNKNOWN";
  } catch (error) {
    if (error instanceof ClearedError && error.code === "POLICY_INVALID") return "PARSE_ERROR";
    throw error;
  }
}

/** The vectors' words for our verdict; an action is compared by its class, and one of no known class asks a person. */
function rulesOf(args: Record<string, Json>): Json {
  const given = readGiven(JSON.stringify(args));
  const verdict = judge(given === null ? [] : [given], LADDER);
  return {
    passed: verdict.passed,
    requiresApproval: verdict.requires_approval,
    escalationRequired: verdict.escalation_required,
    triggeredRules: verdict.triggered.map(({ rule, action, level, description }) => ({
      ruleId: rule,
      action,
      level: level ?? "",
      description,
    })),
    escalationLevel: verdict.level,
  };
}

interface Expected {
  triggeredRules: { action: string; level: string }[];
  escalationLevel: string | null;
}

function asOurs(expected: Json, found: Json): Json {
  const { triggeredRules, escalationLevel, ...rest } = expected as unknown as Expected;
  const level = (found as unknown as Expected).escalationLevel;
  const overruled = exceptions.some(
    (one) => one.file === FILE && level !== null && one.words?.[level] !== undefined && one.words[level] === escalationLevel,
  );
  return {
    ...rest,
    escalationLevel: overruled ? level : escalationLevel,
    triggeredRules: triggeredRules.map((rule) => ({
      ...rule,
      level: rule.level.toLowerCase(),
      action: actionOf(rule.action) ?? "require_approval",
    })),
  } as unknown as Json;
}

it("gives the expected value for each vector", () => {
  const wrong = vectors(FILE).flatMap(({ function: name, args, expected }, index) => {
    const found = name === "evaluate_condition" ? conditionOf(args) : rulesOf(args);
    const wanted = name === "evaluate_condition" ? expected : asOurs(expected, found);
    try {
      expect(found).toEqual(wanted);
      return [];
    } catch {
      return [`[${index}] ${JSON.stringify(args)}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`];
    }
  });
  expect(wrong).toEqual([]);
});

it("gives the recommended value where the original was wrong", () => {
  for (const { function: name, args, recommended } of wrongRows(FILE))
    expect(name === "evaluate_condition" ? conditionOf(args) : rulesOf(args), JSON.stringify(args)).toEqual(recommended);
});

it("ranks a vice president above a director, and a manager above a supervisor, where the original had it the other way round", () => {
  const levelOf = (...levels: string[]) =>
    judge([readGiven(JSON.stringify({ rules: levels.map((level) => ({ condition: "true", action: "approve", level })) }))!], LADDER).level;
  expect(levelOf("director", "vp")).toBe("vp");
  expect(levelOf("manager", "supervisor")).toBe("manager");
});
