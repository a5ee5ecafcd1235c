/** Policy files: what refuses one, with its place; what the shipped ones decide; and a run that keeps the policy it began with. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { ladderSchema, meetsLevel } from "../../runtime/rules/policy/levels.ts";
import type { Json, Verdict } from "../../runtime/kernel/ports.ts";
import { parseConfig } from "../../runtime/workspace/settings/config.ts";
import { createPolicies, failureOf, parsePack } from "../../runtime/workspace/settings/policies.ts";
import { memoryTree } from "../workspace/memory-tree.ts";

const FOLDER = join(import.meta.dirname, "../../policies");
const LADDER = ladderSchema.parse({});
const shipped = readdirSync(FOLDER).map((file): [string, string] => [file.slice(0, -5), readFileSync(join(FOLDER, file), "utf8")]);

describe.each(shipped)("%s", (name, text) => {
  const pack = parsePack(text, `policies/${name}.yaml`, LADDER);
  it("has no warning, and a case for each of its rules, applying and not", () => {
    expect(pack.warnings).toEqual([]);
    const verdicts = pack.cases.map((one) => failureOf(one, pack, LADDER).verdict);
    for (const { id, when } of pack.set.rules) {
      const applies = verdicts.map(({ triggered }) => triggered.some((one) => one.rule === id));
      expect(applies, id).toContain(true);
      if (when.op !== "constant") expect(applies, id).toContain(false);
    }
  });
  it("decides its cases as they say", () => {
    expect(pack.cases.flatMap((one) => failureOf(one, pack, LADDER).failure ?? [])).toEqual([]);
  });
  it("never passes without one of its facts", () => {
    const ordinary = pack.cases[0]?.facts ?? {};
    // Within one tolerance of an invoice the other one does not matter.
    for (const key of Object.keys(ordinary).filter((one) => !one.startsWith("variance"))) {
      const { [key]: _, ...facts } = ordinary;
      for (const value of [undefined, null, Number.NaN, "1,000,000", {}]) {
        const { verdict } = failureOf(
          { ...pack.cases[0]!, facts: value === undefined ? facts : { ...facts, [key]: value as Json } },
          pack,
          LADDER,
        );
        // Text is a value for a text; every other kind refuses all of these.
        if (value !== "1,000,000" || pack.set.kinds.get(key) !== "text") expect(verdict.passed, `${key} ${String(value)}`).toBe(false);
      }
    }
  });
});

it("there is a pack for each of the fifteen processes", () => {
  expect(shipped.map(([name]) => name).join(" ")).toBe(
    "ar_collections compliance_audit customer_onboarding dispute_resolution expense_approval general hr_offboarding incident_response " +
      "invoice_reconciliation month_end_close order_management payroll procurement sla_breach subscription_migration",
  );
});

const PACK = `process: pay
source: test
facts:
  amount: money
  status: text
  due: date
  hold: boolean
  tags: list
thresholds:
  amount: 500
rules:
  - {id: LARGE, when: "amount > threshold.amount", action: require_approval, level: manager, description: large}
`;
const read = (text: string) => parsePack(text, "policies/pay.yaml", LADDER);

function refusal(text: string): string {
  try {
    read(text);
  } catch (error) {
    if (error instanceof ClearedError && error.code === "POLICY_INVALID") return `${error.at?.line}:${error.at?.col} ${error.message}`;
    throw error;
  }
  return "accepted";
}

const rule = (when: string, more = "action: block, level: manager") =>
  `${PACK}  - {id: NEXT, when: ${JSON.stringify(when)}, ${more}, description: next}\n`;

it.each([
  [
    PACK.replace("thresholds:", "tresholds:"),
    '9:1 policies/pay.yaml:9: Unknown key "tresholds". Did you mean "thresholds"? Known here: process, source, facts, requester, thresholds, rules, prose, usual, cases.',
  ],
  [PACK.replace("level:", "levl:"), 'Unknown key "rules.0.levl". Did you mean "level"?'],
  [PACK.replace("require_approval", "aprove"), 'no action is called "aprove". Did you mean "approve"?'],
  [PACK.replace("manager", "manger"), 'no level is called "manger". Did you mean "manager"?'],
  [
    PACK.replace("amount: 500", "amount: 5,000"),
    "10:3 policies/pay.yaml:10: thresholds.amount: write a number without separators or signs",
  ],
  [PACK.replace("amount: 500", "amount: .nan"), "thresholds.amount:"],
  [PACK.replace("amount: 500", "amount: 12345678901234567.5"), "thresholds.amount: write a number"],
  [
    PACK.replace("amount: money", "amount: currency"),
    'facts.amount: no kind is called "currency". There are: decimal, money, text, boolean, date, list',
  ],
  [PACK.replace("process: pay", "process: payments"), "1:1 policies/pay.yaml:1: process: write pay, the name of the file"],
  [`${PACK}usual: {ammount: "5"}\n`, '13:9 policies/pay.yaml:13: ammount is not declared under facts:. Did you mean "amount"?'],
  [`${PACK}cases:\n  - {name: a, facts: {amonut: "5"}, verdict: pass}\n`, "14:23 policies/pay.yaml:14: amonut is not declared"],
  [`${PACK}cases:\n  - {name: a, verdict: passed}\n`, 'no verdict is called "passed". Did you mean "pass"?'],
  [PACK.replace("rules:", "rules: &all"), "references (&name, *name) are not supported"],
  [
    rule("amount > 5,000"),
    "13:16 policies/pay.yaml:13: rules.1.when: `amount > 5,000`, character 10: thousands separators are not supported",
  ],
  [rule("amount > 5 %"), "percent signs are not supported"],
  [rule("ammount > 5"), 'ammount is not declared under facts:. Did you mean "amount"?'],
  [rule("amount > threshold.amont"), 'threshold.amont is not declared under thresholds:. Did you mean "threshold.amount"?'],
  [rule("amount > limit"), "limit is not declared under facts:."],
  [rule("amount == gold"), "`amount == gold`: amount is declared as money, and gold is text."],
  [rule("status > 5"), "status is declared as text, which has no order."],
  [rule("due > 5"), "due is declared as date, and 5 is decimal."],
  [rule("amount"), "amount is declared as money, and only a boolean can stand alone"],
  [rule("tags == a"), "tags is declared as list, and a list is tested with contains."],
  [rule("hold contains a"), "hold is declared as boolean, and only text and lists contain something."],
  [rule("amount > 5 && amount < 3"), "`amount > 5 && amount < 3` can never be true, so NEXT would never apply."],
  [rule("amount > threshold.amount && !(amount > 400)"), "can never be true"],
  [rule("status == open && status == closed"), "can never be true"],
  [rule('status == "open" && status not in [OPEN, new]'), "can never be true"],
  [rule("hold && !hold"), "can never be true"],
  [rule("due > 2026-02-01 && due < 2026-01-01"), "can never be true"],
  [rule("(amount > 5 || hold) && amount <= 5 && !hold"), "can never be true"],
  [rule("false"), "can never be true"],
  [rule("amount > 5").replace("NEXT", "LARGE"), "The id LARGE is used twice; give each rule its own."],
  [rule("amount > 5", "action: block, level: manager, approvals: 0"), "rules.1.approvals:"],
])("refuses %#: %s", (text, says) => {
  expect(refusal(text)).toContain(says);
});

it.each([
  "amount >= 5 && amount <= 5",
  "amount in [5, 6] && amount == 5.0",
  "status == '5' && status != '5.0'",
  "status in [open] && status != open",
  "status == open || status == closed",
  "amount > 5 || amount < 3",
])("accepts `%s`", (when) => {
  expect(refusal(rule(when))).toBe("accepted");
});

it("warns about a rule that always applies together with a stricter one, and about an unused threshold", () => {
  const warned = (text: string) => read(text).warnings.map(({ at, message }) => `${at.line}: ${message}`);
  expect(warned(rule("amount > 5", "action: block, level: vp"))).toEqual([
    "12: LARGE changes nothing: NEXT applies whenever it does and is as strict. Tighten it or remove it.",
  ]);
  expect(warned(rule("amount > 9000", "action: approve, level: supervisor"))[0]).toContain("NEXT changes nothing: LARGE");
  expect(warned(rule("amount > 9000", "action: approve, level: vp"))).toEqual([]);
  expect(warned(rule("amount > 9000", "action: approve, level: legal"))).toEqual([]);
  expect(warned(rule("amount > 9000", "action: approve, level: manager, approvals: 2"))).toEqual([]);
  expect(warned(rule("amount > threshold.amount", "action: approve, level: manager"))).toHaveLength(1);
  expect(warned(PACK.replace("amount: 500", "amount: 500\n  other: 3"))).toEqual([
    "11: No rule uses threshold.other, so changing it changes nothing.",
  ]);
});

// ---------------------------------------------------------------- runs

const config = parseConfig("business: {name: Acme}");
const tree = (files: Record<string, string>) => memoryTree(new Map(Object.entries(files)));
const all = Object.fromEntries(shipped.map(([name, text]) => [`policies/${name}.yaml`, text]));
const evaluate = (
  facts: Record<string, Json>,
  given?: string,
  name = "pay",
  files: Record<string, string> = { "policies/pay.yaml": PACK },
): Promise<Verdict> => createPolicies({ base: tree(files), config, given }).evaluate(name, facts);

it("1,140 over on an order of 51,200 waits for a manager, and exactly 2 % does not", async () => {
  const facts = {
    invoice_status: "received",
    order_status: "received",
    amount: "51200.00",
    currency: "USD",
    vendor_status: "approved",
    vendor_match: true,
    currency_match: true,
    goods_received: true,
    terms_match: true,
    duplicate: false,
  };
  const over = await evaluate({ ...facts, variance_pct: "2.2265625", variance: "1140.00" }, undefined, "invoice_reconciliation", all);
  expect(over).toMatchObject({ verdict: "require_approval", level: "manager", levels: ["manager"], approvals: 1, passed: false });
  expect(over.summary).toBe(
    "approval required (manager); variance_pct 2.2265625 > 2 and variance 1140.00 > 500 (rule VARIANCE_GT_2PCT, policies/invoice_reconciliation.yaml)",
  );
  expect(await evaluate({ ...facts, variance_pct: "2", variance: "1024.00" }, undefined, "invoice_reconciliation", all)).toMatchObject({
    verdict: "pass",
    approvals: 0,
    triggered: [],
    summary: "no rule applies",
  });
});

it("a threshold is changed in the file alone, and a run uses the file of its commit", async () => {
  const before = createPolicies({ base: tree({ "policies/pay.yaml": PACK }), config });
  const after = createPolicies({ base: tree({ "policies/pay.yaml": PACK.replace("amount: 500", "amount: 2000") }), config });
  const [waiting, next] = [await before.evaluate("pay", { amount: "900.00" }), await after.evaluate("pay", { amount: "900.00" })];
  expect([waiting.verdict, next.verdict]).toEqual(["require_approval", "pass"]);
  expect(await before.evaluate("pay", { amount: "900.00" })).toEqual(waiting);
  expect(waiting.policy_hash).not.toBe(next.policy_hash);
  expect(waiting.inputs_hash).toBe(next.inputs_hash);
});

it("names the nearest policy for an unknown name", async () => {
  await expect(evaluate({}, undefined, "payrol", all)).rejects.toMatchObject({
    code: "POLICY_UNKNOWN",
    message: expect.stringContaining('There is no policies/payrol.yaml. Did you mean "payroll"? There are: ar_collections,') as string,
  });
});

const given = (rules: object[], context: object = {}) => JSON.stringify({ rules, context });

it("a document given with the run can only make the verdict stricter, and the source of each rule is named", async () => {
  const stricter = await evaluate({ amount: "600.00" }, given([{ id: "G", condition: "amount > 100", action: "block" }]));
  expect(stricter).toMatchObject({ verdict: "block", blocked: true, requires_approval: true, level: "manager" });
  expect(stricter.triggered.map(({ rule: id, source }) => [id, source])).toEqual([
    ["LARGE", "policies/pay.yaml"],
    ["G", "given"],
  ]);
  const milder = given([{ id: "G", condition: "amount > 100", action: "log" }], { amount: "1.00" });
  expect((await evaluate({ amount: "600.00" }, milder)).verdict).toBe("require_approval");
  // What the run has gathered wins over what the document claims.
  const claims = given([{ id: "G", condition: "amount > 100 && vip", action: "escalate" }], { amount: "1.00", vip: true });
  expect((await evaluate({ amount: "200.00" }, claims)).verdict).toBe("escalate");
});

it.each([
  ["Payments above 100 need a manager.", "GIVEN_PROSE", "the policy given with the run is prose; a person reads it"],
  ['{"rules": [', "GIVEN_UNREADABLE", "the policy given with the run cannot be read: "],
  ['{"rule": []}', "GIVEN_UNREADABLE", 'the policy given with the run cannot be read: it has no list "rules"'],
  ["[1]", "GIVEN_UNREADABLE", 'it has no list "rules"'],
  [given([{ id: "G", condition: "amount > 5,000", action: "log" }]), "G", "its condition cannot be read: `amount > 5,000`"],
  [given([{ action: "log" }]), "GIVEN_1", "its condition cannot be read: ``"],
  [JSON.stringify({ rules: [null] }), "GIVEN_1", "its condition cannot be read"],
  [given([{ id: "G", condition: "true", action: "quarantine" }]), "G", ""],
  [given([], []), "GIVEN_UNREADABLE", 'its "context" is not an object'],
])("asks a person if %s is given", async (document, id, says) => {
  const verdict = await evaluate({ amount: "1.00" }, document);
  expect(verdict).toMatchObject({ verdict: "require_approval", requires_approval: true, approvals: 1, passed: false });
  expect(verdict.triggered).toEqual([
    expect.objectContaining({ rule: id, source: "given", description: expect.stringContaining(says) as string }),
  ]);
});

it("a given rule about an unknown fact asks a person, and a blank document counts as none", async () => {
  const unknown = await evaluate({ amount: "1.00" }, given([{ id: "G", condition: "score < 5", action: "log", level: "CFO" }]));
  expect(unknown).toMatchObject({ verdict: "require_approval", level: "cfo", indeterminate: [{ rule: "G", missing: ["score"] }] });
  const flag = await evaluate({ amount: "1.00" }, given([{ id: "G", condition: "sanctioned", action: "block" }]));
  expect(flag).toMatchObject({ verdict: "require_approval", indeterminate: [{ rule: "G", missing: ["sanctioned"] }] });
  expect((await evaluate({ amount: "1.00" }, "  \n")).verdict).toBe("pass");
});

it("a role is met only by that role, a rank by every higher one, and both may be required", async () => {
  expect(meetsLevel(LADDER, ["cfo"], "legal")).toBe(false);
  expect(meetsLevel(LADDER, ["legal"], "manager")).toBe(false);
  expect(meetsLevel(LADDER, ["manager", "Legal"], "legal")).toBe(true);
  expect(meetsLevel(LADDER, ["vp"], "manager")).toBe(true);
  expect(meetsLevel(LADDER, ["manager"], "vp")).toBe(false);
  expect(meetsLevel(LADDER, ["cfo"], "ciso")).toBe(true);
  expect(meetsLevel(LADDER, ["board"], "wizard")).toBe(false);
  const rules = ["manager", "legal", "vp"].map((level) => ({ condition: "true", action: "approve", level }));
  expect(await evaluate({ amount: "1.00" }, given(rules))).toMatchObject({ level: "vp", levels: ["legal", "vp"] });
});

it("config.yaml may define another ladder", async () => {
  const own = parseConfig("business: {name: Acme}\npolicy: {ladder: [clerk, [owner, partner]], roles: [auditor]}");
  const pack = PACK.replace("manager", "Partner");
  const found = await createPolicies({ base: tree({ "policies/pay.yaml": pack }), config: own }).evaluate("pay", { amount: "900.00" });
  expect(found.level).toBe("partner");
  expect(() => parseConfig("business: {name: Acme}\npolicy: {ladder: [clerk, clerk]}")).toThrow(
    "config.yaml:2: policy: a level occurs twice",
  );
  await expect(createPolicies({ base: tree({ "policies/pay.yaml": PACK }), config: own }).evaluate("pay", {})).rejects.toThrow(
    'no level is called "manager". There are: clerk, owner, partner, auditor',
  );
});
