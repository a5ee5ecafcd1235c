/** What holds for any rules and any facts (spec/worker.md 35.5). */
import fc from "fast-check";
import { expect, it } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { type Condition, type Operand, parseCondition, print } from "../../runtime/rules/policy/condition.ts";
import { compareDecimals } from "../../runtime/rules/policy/values.ts";
import { type Kind, evaluate } from "../../runtime/rules/policy/evaluate.ts";
import { readGiven } from "../../runtime/rules/policy/given.ts";
import { ladderSchema } from "../../runtime/rules/policy/levels.ts";
import { lintRules } from "../../runtime/rules/policy/lint.ts";
import { type Action, type Rule, type RuleSet, judge } from "../../runtime/rules/policy/verdict.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { STRICTNESS } from "../../runtime/kernel/verdict.ts";

const LADDER = ladderSchema.parse({});
const FIELDS = ["amount", "limit", "status", "hold", "due", "tags", "customer.tier"];
const field = fc.constantFrom(...FIELDS);
const number = fc
  .tuple(fc.integer({ min: -9999, max: 9999 }), fc.integer({ min: 0, max: 3 }))
  .map(([n, places]) => (n / 10 ** places).toFixed(places));
const operand: fc.Arbitrary<Operand> = fc.oneof(
  number.map((text): Operand => ({ kind: "number", text })),
  fc.string().map((text): Operand => ({ kind: "text", text })),
  fc.constantFrom<Operand>({ kind: "date", text: "2026-01-31" }, { kind: "date", text: "2026-01-31T10:00:00Z" }),
  fc.boolean().map((value): Operand => ({ kind: "boolean", value })),
  fc.constant<Operand>({ kind: "null" }),
  fc.constantFrom(...FIELDS, "open", "past-due").map((text): Operand => ({ kind: "word", text })),
);
const atom: fc.Arbitrary<Condition> = fc.oneof(
  field.map((name): Condition => ({ op: "is", field: name })),
  fc.boolean().map((value): Condition => ({ op: "constant", value })),
  fc.record({ op: fc.constant("compare" as const), field, relation: fc.constantFrom("==", "!=", ">", ">=", "<", "<="), operand }),
  fc.record({ op: fc.constant("contains" as const), field, operand }),
  fc.record({ op: fc.constant("in" as const), field, negated: fc.boolean(), list: fc.array(operand, { minLength: 1, maxLength: 4 }) }),
);
const { condition } = fc.letrec<{ condition: Condition }>((tie) => {
  const terms = fc.array(tie("condition"), { minLength: 2, maxLength: 3 });
  return {
    condition: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      atom,
      tie("condition").map((term): Condition => ({ op: "not", term })),
      terms.map((all): Condition => ({ op: "and", terms: all })),
      terms.map((all): Condition => ({ op: "or", terms: all })),
    ),
  };
});
const KINDS = new Map<string, Kind>([
  ["amount", "decimal"],
  ["limit", "money"],
  ["status", "text"],
  ["hold", "boolean"],
  ["due", "date"],
  ["tags", "list"],
  ["customer.tier", "text"],
]);
const value: fc.Arbitrary<Json> = fc.oneof(
  number,
  number.map(Number),
  fc.constantFrom<Json>("open", "past-due", "6,000", "", "2026-01-31", null, true, false, Number.NaN, ["open", "amount"], { tier: "open" }),
);
const facts = fc.dictionary(fc.constantFrom(...FIELDS, "customer"), value, { maxKeys: 7 });
const scopeOf = (known: Record<string, Json>) => ({ facts: known, kinds: KINDS, thresholds: {}, loose: false });

it("a printed condition parses as itself", () => {
  fc.assert(
    fc.property(condition, (one) => void expect(parseCondition(print(one))).toEqual(one)),
    { numRuns: 500 },
  );
});

it("De Morgan's laws hold in three-valued logic", () => {
  fc.assert(
    fc.property(condition, condition, facts, fc.boolean(), fc.boolean(), (a, b, known, missingIsFalse, loose) => {
      const truth = (one: Condition) => evaluate(one, { ...scopeOf(known), loose }, missingIsFalse);
      const not = (term: Condition): Condition => ({ op: "not", term });
      expect(truth(not({ op: "and", terms: [a, b] }))).toBe(truth({ op: "or", terms: [not(a), not(b)] }));
      expect(truth(not({ op: "or", terms: [a, b] }))).toBe(truth({ op: "and", terms: [not(a), not(b)] }));
    }),
    { numRuns: 500 },
  );
});

const rule: fc.Arbitrary<Rule> = fc.record({
  id: fc.string({ minLength: 1, maxLength: 4 }),
  when: condition,
  action: fc.constantFrom<Action>("inform", "require_approval", "escalate", "block"),
  level: fc.constantFrom("manager", "vp", "legal", "hr", null),
  approvals: fc.integer({ min: 1, max: 3 }),
  distinct_from_requester: fc.boolean(),
  description: fc.constant(""),
});
const setOf = (rules: Rule[], known: Record<string, Json>): RuleSet => ({ source: "policies/x.yaml", rules, ...scopeOf(known) });
const strictness = (sets: RuleSet[]) => STRICTNESS.indexOf(judge(sets, LADDER).verdict);

it("another rule never makes the verdict milder, nor lowers what it requires", () => {
  fc.assert(
    fc.property(fc.array(rule, { minLength: 1, maxLength: 5 }), rule, facts, (rules, more, known) => {
      const [before, after] = [judge([setOf(rules, known)], LADDER), judge([setOf([...rules, more], known)], LADDER)];
      expect(STRICTNESS.indexOf(after.verdict)).toBeGreaterThanOrEqual(STRICTNESS.indexOf(before.verdict));
      expect(after.approvals).toBeGreaterThanOrEqual(before.approvals);
      expect(before.distinct_from_requester && !after.distinct_from_requester).toBe(false);
    }),
    { numRuns: 500 },
  );
});

it("what the lint calls impossible is never true, and a rule it calls needless never applies alone", () => {
  // Few values, so that comparisons meet.
  const close = fc.constantFrom("1", "2", "2.0", "3");
  const found = { impossible: 0, needless: 0 };
  const met: fc.Arbitrary<Condition> = fc.oneof(
    fc.constant<Condition>({ op: "is", field: "hold" }),
    fc.record({
      op: fc.constant("compare" as const),
      field: fc.constant("amount"),
      relation: fc.constantFrom("==", "!=", ">", ">=", "<", "<="),
      operand: close.map((text): Operand => ({ kind: "number", text })),
    }),
    fc.record({
      op: fc.constant("compare" as const),
      field: fc.constant("status"),
      relation: fc.constantFrom("==", "!="),
      operand: fc.constantFrom("a", "A", "2", "2.0").map((text): Operand => ({ kind: "text", text })),
    }),
    fc.record({
      op: fc.constant("in" as const),
      field: fc.constantFrom("amount", "status"),
      negated: fc.boolean(),
      list: fc.array(
        close.map((text): Operand => ({ kind: "text", text })),
        { minLength: 1, maxLength: 2 },
      ),
    }),
  );
  const small = fc.oneof(
    met,
    fc.array(met, { minLength: 2, maxLength: 3 }).map((terms): Condition => ({ op: "and", terms })),
    fc.array(met, { minLength: 2, maxLength: 3 }).map((terms): Condition => ({ op: "not", term: { op: "or", terms } })),
  );
  const known = fc.record({
    amount: fc.oneof(close, close.map(Number)),
    status: fc.constantFrom("a", "A", "2", "2.0", "3"),
    hold: fc.boolean(),
  });
  fc.assert(
    fc.property(small, small, fc.array(known, { minLength: 8, maxLength: 8 }), (a, b, many) => {
      const rules = [a, b].map((when, n): Rule => ({ ...always, id: `R${n}`, when }));
      for (const { path, message } of lintRules(rules, scopeOf({}), LADDER)) {
        const when = rules[Number(path[1])]!.when;
        if (!message.includes("can never be true") && !message.includes("changes nothing")) continue;
        const isNeedless = message.includes("changes nothing");
        found[isNeedless ? "needless" : "impossible"]++;
        for (const one of many)
          if (evaluate(when, scopeOf(one), false) === true)
            expect(isNeedless && rules.every((rule) => evaluate(rule.when, scopeOf(one), false)), print(when)).toBe(true);
      }
    }),
    { numRuns: 3000 },
  );
  expect(Math.min(found.impossible, found.needless)).toBeGreaterThan(20);
});

const always: Rule = {
  id: "R",
  when: { op: "constant", value: true },
  action: "block",
  level: null,
  approvals: 1,
  distinct_from_requester: false,
  description: "",
};

it("removing a fact never turns a block or an approval into a pass", () => {
  fc.assert(
    fc.property(fc.array(rule, { minLength: 1, maxLength: 5 }), facts, fc.nat(), (rules, known, n) => {
      const names = Object.keys(known);
      // A field of an object has two spellings: the fact is gone when neither is there.
      const [gone = ""] = (names[n % Math.max(1, names.length)] ?? "").split(".");
      const fewer = Object.fromEntries(Object.entries(known).filter(([name]) => name.split(".")[0] !== gone));
      const { passed } = judge([setOf(rules, known)], LADDER);
      if (!passed) expect(judge([setOf(rules, fewer)], LADDER).passed).toBe(false);
    }),
    { numRuns: 1000 },
  );
});

it("a document given with a run never makes the verdict milder, whatever it says", () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record({
        rules: fc.array(fc.oneof(fc.jsonValue(), fc.record({ id: fc.string(), condition: condition.map(print), action: fc.string() }))),
      })
      .map((one) => JSON.stringify(one)),
  );
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 3 }), facts, text, (rules, known, document) => {
      const set = setOf(rules, known);
      const given = readGiven(document);
      expect(strictness(given === null ? [set] : [set, { ...given, facts: { ...given.facts, ...known } }])).toBeGreaterThanOrEqual(
        strictness([set]),
      );
    }),
    { numRuns: 500 },
  );
});

it("for any text the parser answers or refuses", () => {
  const pieces = fc.array(
    fc.constantFrom(
      "a",
      "&&",
      "||",
      "!",
      "(",
      ")",
      "[",
      "]",
      ",",
      "in",
      "not",
      "contains",
      "==",
      ">",
      "5",
      "5,000",
      "%",
      "'x'",
      '"',
      "2026-01-01",
      " ",
      "true",
      "threshold.x",
      "\u0000",
      "é",
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string({ unit: "binary" }),
        pieces.map((all) => all.join("")),
      ),
      (text) => {
        try {
          const found = parseCondition(text);
          expect(parseCondition(print(found))).toEqual(found);
        } catch (error) {
          expect(error).toBeInstanceOf(ClearedError);
        }
      },
    ),
    { numRuns: 2000 },
  );
});

it("decimals are compared to the last digit", () => {
  const digits = fc.tuple(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.integer({ min: 0, max: 30 }));
  const text = ([units, places]: [bigint, number]): string => {
    const padded = String(units < 0n ? -units : units).padStart(places + 1, "0");
    return `${units < 0n ? "-" : ""}${padded.slice(0, padded.length - places)}${places === 0 ? "" : `.${padded.slice(-places)}`}`;
  };
  const near = fc.tuple(digits, fc.constantFrom(-1n, 0n, 1n)).map(
    ([[units, places], step]) =>
      [
        [units, places],
        [units + step, places],
      ] as [[bigint, number], [bigint, number]],
  );
  fc.assert(
    fc.property(fc.oneof(near, fc.tuple(digits, digits)), ([a, b]) => {
      const difference = a[0] * 10n ** BigInt(b[1]) - b[0] * 10n ** BigInt(a[1]);
      expect(compareDecimals(text(a), text(b))).toBe(difference < 0n ? -1 : difference > 0n ? 1 : 0);
    }),
    { numRuns: 1000 },
  );
});
