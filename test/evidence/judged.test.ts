/** What a person has to do with a run: gates, cards for review, what they confirmed since; and changes of what a commit's files say. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Host } from "../../runtime/app/host.ts";
import type { Decision } from "../../runtime/kernel/ports.ts";
import { type Workspace, closeAll, decide, host, removeAll, run, start, workspace } from "../engine/harness.ts";
import { STATEMENT } from "../engine/plugins.ts";
import { header, only, tried } from "./trials.ts";

let one: Workspace;
let opened: Host;
beforeEach(async () => {
  one = await workspace();
  opened = await host(one);
});
afterEach(closeAll);
afterAll(removeAll);

const why = (found: Awaited<ReturnType<typeof only>>) => (found === "same" ? ["same"] : [found.class, ...found.why]);

describe("gates", () => {
  const pay = (amount: string, title = "Pay?", gate = true) => `${header("approval, bank, ctx")}
const payment = { to: "ACME", amount: "${amount}" };
${gate ? `const answer = approval_wait({ title: "${title}", calls: [{ tool: "bank_pay", params: payment }] });` : `const answer = { decision: "approved" };`}
const paid = answer.decision === "approved" ? bank_pay(payment).ref : "";
({ paid })
`;

  async function recorded(decision: Decision["decision"], text = pay("120.00")): Promise<void> {
    one.commit({ "agents/payer.ts": text });
    const id = await start(opened, "payer");
    await opened.engine.result(id, { timeoutMs: 100_000 });
    await decide(opened, id, decision);
  }

  test("an approval applies to the same calls, however the question is worded", async () => {
    await recorded("approved");
    expect(why(await only(opened, "payer", { "agents/payer.ts": pay("120.00", "Shall ACME be paid?") }))).toEqual([
      "changed",
      "new gate Shall ACME be paid?",
      "no more gate Pay?",
    ]);
  });

  test("a rejection applies to the same calls too, and nothing is paid in the trial", async () => {
    await recorded("rejected");
    const found = await only(opened, "payer", { "agents/payer.ts": pay("120.00", "Shall ACME be paid?") });
    expect(why(found)).not.toContainEqual(expect.stringContaining("bank_pay"));
    expect(one.bank()).toEqual([]);
  });

  test("another amount is reported with both values, and the assumed approval is reported", async () => {
    await recorded("approved");
    const found = await only(opened, "payer", { "agents/payer.ts": pay("1200.00") });
    expect(why(found)).toContain(`bank_pay: amount "120.00" -> "1200.00"`);
    expect(found).toMatchObject({
      class: "changed",
      supposed: [
        `an approval of "Pay?", which the recorded run did not ask for`,
        expect.stringMatching(/^bank_pay\(.*1200.00.*\) answers .*dry/),
      ],
    });
    expect(one.bank()).toEqual(["pay"]);
  });

  test("a payment made twice is worse", async () => {
    await recorded("approved");
    const twice = `${pay("120.00").replace("({ paid })", "")}
approval_wait({ title: "Again?", calls: [{ tool: "bank_pay", params: payment }] });
bank_pay(payment);
({ paid })
`;
    expect(why(await only(opened, "payer", { "agents/payer.ts": twice }))).toEqual([
      "worse",
      expect.stringMatching(/"bank_pay".* is made 2 times, was 1/),
      'new call bank_pay({"to":"ACME","amount":"120.00"})',
      "new gate Again?",
    ]);
    expect(one.bank()).toEqual(["pay"]);
  });

  test("a removed gate fails if an approval is required", async () => {
    await recorded("approved");
    expect(why(await only(opened, "payer", { "agents/payer.ts": pay("120.00", "", false) }))[1]).toMatch(/APPROVAL_REQUIRED/);
  });

  test("a question that guards no call is worse if it is no longer asked, and not if it is reworded", async () => {
    const asking = (title: string) =>
      `${header("approval, ctx")}${title === "" ? "" : `approval_wait({ title: "${title}", calls: [] });\n`}ctx_log("on");\n1;\n`;
    await recorded("approved", asking("Close the month?"));
    const dropped = await only(opened, "payer", { "agents/payer.ts": asking("") });
    expect(why(dropped).slice(0, 2)).toEqual(["worse", '"Close the month?" is no longer asked']);
    expect(why(await only(opened, "payer", { "agents/payer.ts": asking("Shall we close?") }))[0]).toBe("changed");
  });

  test("a form that a person filled in is answered if it is the same, and not if it is another", async () => {
    const form = (field: string) => `${header("approval")}
approval_form({ title: "Which?", fields: { ${field}: { type: "string", required: true } } }).values
`;
    one.commit({ "agents/asker.ts": form("account") });
    const id = await start(opened, "asker");
    await opened.engine.result(id, { timeoutMs: 100_000 });
    await decide(opened, id, "approved", { result: { account: "ACME" } });
    expect(await only(opened, "asker", { "agents/asker.ts": `${form("account")}// reviewed\n` })).toBe("same");
    expect(why(await only(opened, "asker", { "agents/asker.ts": form("name") }))).toEqual([
      "not_replayable",
      `"Which?" asks a person for data, which the recorded run did not do`,
    ]);
  });

  describe("of a process", () => {
    const limit = (amount: number) => `process: payer
source: template
facts: { amount: money, paid: money, to: text }
thresholds: { limit: ${amount} }
rules:
  - { id: OVER, when: "amount > threshold.limit", action: require_approval, level: manager, description: more than the limit }
`;
    const agent = `${header("fsm, policy, bank, approval", "states: [ASSESS, COMPUTE, POLICY_CHECK, APPROVAL_GATE?, MUTATE]\n")}
fsm_enter("ASSESS");
const { rate } = bank_rate({ day: "120.00", failures: 0 });
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ facts: { amount: "120.00", paid: "1.1", to: "ACME " + rate } });
const payment = { to: "ACME " + rate, amount: "1.1" };
if (!verdict.passed) {
  fsm_enter("APPROVAL_GATE");
  approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: payment }] });
}
fsm_enter("MUTATE");
({ paid: bank_pay(payment).ref })
`;

    test("a raised threshold skips the person, which is worse; a lowered one asks them", async () => {
      one.commit({ "agents/payer.ts": agent, "policies/payer.yaml": limit(100) });
      const id = await start(opened, "payer");
      await opened.engine.result(id, { timeoutMs: 100_000 });
      expect(await decide(opened, id, "approved")).toMatchObject({ status: "done", error: null });
      expect(await only(opened, "payer", { "policies/payer.yaml": `${limit(100)}# reviewed\n` })).toBe("same");
      const raised = await only(opened, "payer", { "policies/payer.yaml": limit(1000) });
      expect(why(raised).slice(0, 2)).toEqual([
        "worse",
        expect.stringMatching(/^bank_pay\(.*\) is made without a person's approval, which it had$/),
      ]);
      expect(raised).toMatchObject({ divergence: { recorded: { tool: "fsm_enter", params: { state: "APPROVAL_GATE" } } } });
      one.commit({ "policies/payer.yaml": limit(1000) });
      await run(opened, "payer");
      const report = await tried(opened, "payer", { "policies/payer.yaml": limit(100) });
      expect(report.counts).toMatchObject({ changed: 2 });
      expect(one.bank().filter((what) => what === "pay")).toHaveLength(2);
    });

    test("a run that a person stopped with a reason gets the same answer again", async () => {
      const asks = agent.replace("calls: [", "otherwise: [], calls: [").replace('fsm_enter("MUTATE");', 'fsm_enter("FAILED");');
      one.commit({ "agents/payer.ts": asks, "policies/payer.yaml": limit(100) });
      const id = await start(opened, "payer");
      await opened.engine.result(id, { timeoutMs: 100_000 });
      const { outcome, result } = await decide(opened, id, "rejected", { reason: "not this year" });
      expect([outcome, result]).toEqual(["rejected", expect.objectContaining({ reason: "Pat said no: not this year" })]);
      expect(await only(opened, "payer", { "policies/payer.yaml": `${limit(100)}# reviewed\n` })).toBe("same");
    });

    test("a run that its policy ended is ended again", async () => {
      one.commit({ "agents/payer.ts": agent, "policies/payer.yaml": limit(100).replace("require_approval, level: manager", "block") });
      expect((await run(opened, "payer")).outcome).toBe("blocked");
      expect(await only(opened, "payer", { "agents/payer.ts": `${agent}// reviewed\n` })).toBe("same");
      expect(why(await only(opened, "payer", { "policies/payer.yaml": limit(1000) }))).toContain("ends as completed, was blocked");
    });
  });
});

describe("entries that a person has seen", () => {
  const agent = (account: number, status = "pending-review", review = true) => `${header("journal, queue")}
const made = journal_add_double({ date: "2026-11-06", description: "AWS", debit_account: ${account}, credit_account: 1010, amount: "42.00", key: "aws", status: "${status}" });
${review ? 'queue_add_review({ entry_id: "pending", description: "AWS?", confidence: 0.4 });' : ""}
({ id: made.entry_id })
`;

  async function recorded(decision?: Partial<Decision>): Promise<void> {
    one.commit({ "agents/booker.ts": agent(5030) });
    await run(opened, "booker");
    const card = opened.cards.list({ open: true }).find((found) => found.kind === "entry");
    if (decision === undefined || card === undefined) return;
    await decideCard(opened, signAs(one.dir, opened.trust, { ...asked(card), decision: "approved", at: opened.clock.now(), ...decision }));
  }

  test("code that now does what they corrected is better; anything else is worse", async () => {
    await recorded({ account: "5020" });
    const better = why(await only(opened, "booker", { "agents/booker.ts": agent(5020, "auto-confirmed", false) }));
    expect(better).toEqual(["changed", expect.stringMatching(/Software 42.00 USD.*as a person left it: better/), "no more review AWS?"]);
    const worse = why(await only(opened, "booker", { "agents/booker.ts": agent(5040) }));
    expect(worse).toEqual(["worse", expect.stringMatching(/but a person has left it as Expenses:Software 42.00 USD/)]);
    // What the change leaves alone is not its fault.
    expect(await only(opened, "booker", { "agents/booker.ts": `${agent(5030)}// reviewed\n` })).toBe("same");
  });

  test("an entry they confirmed that is gone is worse", async () => {
    await recorded({});
    const gone = `${header("journal, queue")}\n({ id: "" })\n`;
    expect(why(await only(opened, "booker", { "agents/booker.ts": gone })).slice(0, 2)).toEqual([
      "worse",
      expect.stringMatching(/-> gone, but a person/),
    ]);
  });

  test("an entry nobody decided must not skip review, but may be learned", async () => {
    await recorded();
    expect(why(await only(opened, "booker", { "agents/booker.ts": agent(5030, "auto-confirmed", false) })).slice(0, 2)).toEqual([
      "worse",
      expect.stringMatching(/AWS: is no longer shown to a person, was pending and is auto-confirmed/),
    ]);
    expect(why(await only(opened, "booker", { "agents/booker.ts": agent(5020, "auto-confirmed", false) }))).toEqual([
      "changed",
      expect.stringMatching(/Office Supplies 42.00.*Software 42.00.*pending-review -> auto-confirmed/),
      "no more review AWS?",
    ]);
  });
});

describe("changes of data that the commit provides", () => {
  const reader = `${header("config, journal")}
const limit = config_get("thresholds.auto_confirm");
journal_add_double({ date: "2026-11-06", description: "AWS", debit_account: 5030, credit_account: 1010, amount: "42.00", key: "aws", status: limit > 0.9 ? "auto-confirmed" : "pending-review" });
limit;
`;

  test("a setting that is read, and one that is not", async () => {
    one.commit({ "agents/reader.ts": reader });
    await run(opened, "reader");
    const config = one.read("config.yaml");
    expect(await only(opened, "reader", { "config.yaml": `${config}# reviewed\n` })).toBe("same");
    const found = await only(opened, "reader", { "config.yaml": config.replace(/auto_confirm: \S+/, "auto_confirm: 0.5") });
    expect(why(found)).toEqual([
      "changed",
      expect.stringMatching(/^result: .* -> 0.5/),
      expect.stringMatching(/auto-confirmed -> pending-review/),
    ]);
    expect(found).toMatchObject({ divergence: { step: 1 } });
    const closed = await only(opened, "reader", { "config.yaml": `${config}\nclosed_through: 2026-11-30\n` });
    expect(why(closed)).toEqual(["worse", expect.stringMatching(/JOURNAL_CLOSED/), expect.stringMatching(/-> gone/)]);
  });

  test("statements are parsed again if the change affects that; a run whose statement is gone is not replayable", async () => {
    one.write("import/october.csv", STATEMENT);
    expect((await run(opened, "ingest")).status).toBe("done");
    const config = one.read("config.yaml");
    expect(await only(opened, "ingest", { "config.yaml": `${config}# reviewed\n` })).toBe("same");
    const other = { "config.yaml": config.replace("statements: []", `statements: [{ match: { file: "oct*" }, account: 2010 }]`) };
    const found = why(await only(opened, "ingest", other));
    expect([found[0], found.filter((line) => /COMCAST/.test(line))]).toEqual([
      "changed",
      [expect.stringMatching(/gone/), expect.stringMatching(/new -> .*Credit Card -89.99 USD/)],
    ]);
    rmSync(join(one.dir, "import/processed/october.csv"));
    expect(why(await only(opened, "ingest", other))).toEqual([
      "not_replayable",
      "the change alters how statements are read, and october.csv is no longer in import/ or import/processed/",
    ]);
  });

  test("a run made by other code is charged only with the difference between the two", async () => {
    const book = (account: number, word: string) => `${header("journal")}
journal_add_double({ date: "2026-11-06", description: "AWS", debit_account: ${account}, credit_account: 1010, amount: "42.00", key: "aws", status: "auto-confirmed" });
({ word: "${word}" })
`;
    one.commit({ "agents/booker.ts": book(5030, "one") });
    await run(opened, "booker");
    one.commit({ "agents/booker.ts": book(5020, "one") });
    expect(why(await only(opened, "booker", { "agents/booker.ts": book(5020, "two") }))).toEqual([
      "changed",
      `result: word "one" -> "two"`,
    ]);
  });
});

test("which waiting runs could move to it", async () => {
  const agent = (title: string, first = "") => `${header("approval, ctx")}
${first}approval_wait({ title: "${title}", calls: [] });
1;
`;
  one.commit({ "agents/waiter.ts": agent("One?", 'ctx_log("before");\n') });
  const id = await start(opened, "waiter");
  await opened.engine.result(id, { timeoutMs: 100_000 });
  expect((await tried(opened, "waiter", { "agents/waiter.ts": agent("Two?", 'ctx_log("before");\n') })).waiting).toEqual([
    { run: id, moves: true, why: null },
  ]);
  expect((await tried(opened, "waiter", { "agents/waiter.ts": agent("One?") })).waiting).toEqual([
    { run: id, moves: false, why: expect.stringMatching(/step 0: recorded ctx_log/) },
  ]);
});
