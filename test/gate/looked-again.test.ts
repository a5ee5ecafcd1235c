/** What a run goes by is looked at again before it acts: which acts count, which waits, and which answers are the same. */
import { afterAll, expect, test, vi } from "vitest";
import { close, decide, host, removeAll, run, start } from "../engine/harness.ts";
import { pauseAgents, resumeAgents } from "../../runtime/app/pause.ts";
import type { Host } from "../../runtime/app/host.ts";
import { header, type Shop, shop, STATES } from "./shop.ts";

afterAll(removeAll);

const USES = "fsm, mcp, policy, approval";
const READ = 'const found = mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });';
const JUDGE = 'fsm_enter("COMPUTE");\nfsm_enter("POLICY_CHECK");\n';
const begin = `${header(USES, STATES)}fsm_enter("ASSESS");\n${READ}\n${JUDGE}policy_evaluate({ policy: "pay", facts: { amount: found.amount, kind: "fine" } });\n`;
const PAY = '{ tool: "shop/pay_blind", params: { invoice_id: "I-1", amount: found.amount } }';
const OTHER = '{ tool: "shop/pay_blind", params: { invoice_id: "I-9", note: "x" } }';
const ASK = `fsm_enter("APPROVAL_GATE");\napproval_wait({ title: "Pay?", calls: [${PAY}] });\nfsm_enter("MUTATE");\n`;
const bill = (amount: string) => ({ says: { invoice_id: "I-1", amount, status: "open" } });

async function open(agent: string, amount = "50.00"): Promise<{ at: Shop; owner: Host }> {
  const at = await shop({ "agents/pays.ts": agent }, true);
  at.mood(bill(amount));
  return { at, owner: await host(at) };
}

test("a call that needs its own approval is checked after that approval", async () => {
  const { at, owner } = await open(
    `${begin.replace(/"pay", facts: .*? }/, '"open", facts: { fine: true }')}fsm_enter("MUTATE");\nmcp_call(${PAY});\n1;`,
  );
  const waiting = await run(owner, "pays");
  expect(waiting.error?.message).toBeUndefined();
  at.mood(bill("900.00"));
  const end = await decide(owner, waiting.id, "approved");
  expect([end.outcome, at.wrote()]).toEqual(["blocked", []]);
});

test("of several calls in one question the outdated one is named, with what was read", async () => {
  const agent = `${header("mcp, approval")}${READ}\nconst calls = [${OTHER}, { tool: "shop/pay_blind", params: { invoice_id: "I-1", note: found.status } }];\napproval_wait({ title: "Pay?", calls });\nfor (const one of calls) mcp_call(one);\n1;`;
  const { at, owner } = await open(agent);
  const waiting = await run(owner, "pays");
  expect(waiting.error?.message).toBeUndefined();
  at.mood({ says: { invoice_id: "I-1", amount: "50.00", status: "disputed" } });
  const end = await decide(owner, waiting.id, "approved");
  expect([end.outcome, at.wrote()]).toEqual(["blocked", []]);
  const { reason } = end.result as { reason: string };
  expect(reason).toMatch(
    /not for \{"params":\{"invoice_id":"I-1","note":"open"\},"tool":"shop\/pay_blind"\} \(different answers now: mcp_call\(.*get_invoice/,
  );
  expect(reason).not.toContain("I-9");
});

test("filling in a form is a decision that took time", async () => {
  const form = 'approval_form({ title: "Why?", fields: { why: { type: "string", required: true } } });';
  const { at, owner } = await open(`${begin}fsm_enter("APPROVAL_GATE");\n${form}\nfsm_enter("MUTATE");\nmcp_call(${PAY});\n1;`);
  const waiting = await run(owner, "pays");
  expect(waiting.error?.message).toBeUndefined();
  at.mood(bill("900.00"));
  const end = await decide(owner, waiting.id, "approved", { result: { why: "so" } });
  expect([end.error?.message ?? null, end.outcome, at.wrote()]).toEqual([null, "blocked", []]);
});

test("rows and keys in another order are the same answer", async () => {
  const rows = [
    { invoice_id: "A", amount: "1.00" },
    { invoice_id: "B", amount: "2.00" },
  ];
  const pays = '[...found].map((one) => ({ tool: "shop/pay_blind", params: one }))';
  const agent = `${header(USES, STATES)}fsm_enter("ASSESS");\nconst found = mcp_call({ tool: "shop/list_invoices", params: {} });\n${JUDGE}policy_evaluate({ policy: "open", facts: { fine: true } });\nconst calls = ${pays};\nfsm_enter("APPROVAL_GATE");\napproval_wait({ title: "Pay?", calls });\nfsm_enter("MUTATE");\nfor (const call of calls) mcp_call(call);\n1;`;
  const { at, owner } = await open(agent);
  at.mood({ says: rows });
  const waiting = await run(owner, "pays");
  expect(waiting.error?.message).toBeUndefined();
  expect([waiting.status, waiting.error?.message]).toEqual(["waiting", undefined]);
  at.mood({ says: [{ amount: "2.00", invoice_id: "B" }, rows[0]!] });
  const end = await decide(owner, waiting.id, "approved");
  expect([end.error?.message ?? null, end.result, at.wrote().length]).toEqual([null, 1, 2]);
});

test("a run that waited long, though not for a person, uses current data", async () => {
  const at = await shop(
    {
      "agents/pays.ts": `${begin.replace("approval]", "approval, bank]").replace(JUDGE, `bank_slow(600);\n${JUDGE}`)}fsm_enter("MUTATE");\nmcp_call(${PAY});\n1;`,
    },
    true,
  );
  at.mood(bill("50.00"));
  let ahead = 0;
  const owner = await host(at, { clock: { now: () => Date.now() + ahead } });
  const id = await start(owner, "pays");
  while (at.reached().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await pauseAgents(owner, { agent: "pays", by: "Pat", reason: "" });
  await owner.engine.result(id, { timeoutMs: 100_000 });
  at.mood(bill("900.00"));
  ahead = 3 * 86_400_000;
  await resumeAgents(owner, { agent: "pays", by: "Pat" });
  const end = await owner.engine.result(id, { timeoutMs: 100_000 });
  expect([end.error?.message ?? null, end.outcome, at.wrote()]).toEqual([null, "blocked", []]);
});

test("a run without reads acts anyway", async () => {
  const other = `${header("mcp, approval")}approval_wait({ title: "Pay?", calls: [${OTHER}] });\nmcp_call(${OTHER});\n1;`;
  const slow = `${begin.replace("approval]", "approval, bank]").replace(JUDGE, `bank_slow(1500);\n${JUDGE}`)}fsm_enter("MUTATE");\nmcp_call(${PAY});\n1;`;
  const at = await shop({ "agents/other.ts": other, "agents/pays.ts": slow }, true);
  at.mood(bill("50.00"));
  const owner = await host(at);
  const waiting = await run(owner, "other");
  const id = await start(owner, "pays");
  while (at.reached().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await decide(owner, waiting.id, "approved")).toMatchObject({ error: null, outcome: "completed" });
  at.mood(bill("900.00"));
  const end = await owner.engine.result(id, { timeoutMs: 100_000 });
  expect([end.error?.message ?? null, end.outcome, at.wrote().length]).toEqual([null, "blocked", 1]);
});

test("a run that acts twice gives up its turn when it ends, not when the first act's time is over", async () => {
  const two = `approval_wait({ title: "Pay?", calls: [${PAY}, ${PAY.replace("I-1", "I-2")}] });`;
  const again = READ.replace("found", "then");
  const agent = `${header("mcp, approval, bank")}${READ}\n${two}\nmcp_call(${PAY});\nbank_slow(500);\n${again}\nmcp_call(${PAY.replace("I-1", "I-2")});\nthen;`;
  const { at, owner } = await open(agent.replaceAll("\n", "\n"));
  const both = [await run(owner, "pays"), await run(owner, "pays")];
  expect(both.map((one) => one.error?.message ?? one.status)).toEqual(["waiting", "waiting"]);
  const began = performance.now();
  const ends = await Promise.all(both.map((one) => decide(owner, one.id, "approved")));
  expect(ends.map((one) => one.error?.message ?? one.outcome)).toEqual(["completed", "completed"]);
  expect(performance.now() - began).toBeLessThan(8000);
  expect(at.wrote()).toHaveLength(4);
});

test("an act started before a crash is checked again before it is made", async () => {
  const { at, owner } = await open(
    `${begin}${ASK}mcp_call(${PAY.replace("pay_blind", "pay_invoice")});\n1;`.replace(PAY, PAY.replace("pay_blind", "pay_invoice")),
    "500.00",
  );
  const waiting = await run(owner, "pays");
  expect(waiting.error?.message).toBeUndefined();
  at.mood({ ...bill("500.00"), kill: "self", at: "before" });
  const doubt = await decide(owner, waiting.id, "approved");
  expect(doubt.reason).toBe("in_doubt");
  at.mood(bill("900.00"));
  const end = await decide(owner, waiting.id, "rejected");
  expect([end.error?.message ?? null, end.outcome, at.wrote()]).toEqual([null, "blocked", []]);
});

test("a tool that has become a write is not called to read again", async () => {
  const { at, owner } = await open(`${begin}${ASK}mcp_call(${PAY});\n1;`);
  const waiting = await run(owner, "pays");
  expect(waiting.error?.message).toBeUndefined();
  await close(owner);
  at.commit(
    {
      "trust.yaml": at
        .read("trust.yaml")
        .replace("pay_blind: {class: mutate}", "pay_blind: {class: mutate}\n      get_invoice: {class: mutate}"),
    },
    "trust: it writes",
  );
  const later = await host(at);
  const before = at.reached().length;
  const end = await decide(later, waiting.id, "approved");
  expect([end.outcome, at.reached().length]).toEqual(["blocked", before]);
});

test("additional reads caused by a change are made: nothing is blocked that would act alike", async () => {
  const rows = [
    { invoice_id: "A", amount: "1.00" },
    { invoice_id: "B", amount: "2.00" },
  ];
  const details = 'for (const one of found) mcp_call({ tool: "shop/get_invoice", params: { invoice_id: one.invoice_id } });';
  const agent = `${header(USES, STATES)}fsm_enter("ASSESS");\nconst found = mcp_call({ tool: "shop/list_invoices", params: {} });\n${details}\n${JUDGE}policy_evaluate({ policy: "open", facts: { fine: true } });\n${ASK.replace(PAY, OTHER)}mcp_call(${OTHER});\n1;`;
  const { at, owner } = await open(agent);
  at.mood({ says: rows });
  const waiting = await run(owner, "pays");
  expect([waiting.status, waiting.error?.message]).toEqual(["waiting", undefined]);
  at.mood({ says: [...rows, { invoice_id: "C", amount: "3.00" }] });
  const end = await decide(owner, waiting.id, "approved");
  expect([end.error?.message ?? null, end.result, at.wrote().length]).toEqual([null, 1, 1]);
});

test("a date in a record is data, not the passing of time", async () => {
  const dated = PAY.replace("amount: found.amount", "due: found.date");
  const { at, owner } = await open(
    `${begin.replace(/"pay", facts: .*? }/, '"open", facts: { fine: true }')}${ASK.replace(PAY, dated)}mcp_call(${dated});\n1;`,
  );
  at.mood({ says: { date: "2026-12-01" } });
  const waiting = await run(owner, "pays");
  expect([waiting.status, waiting.error?.message]).toEqual(["waiting", undefined]);
  at.mood({ says: { date: "2027-01-15" } });
  const end = await decide(owner, waiting.id, "approved");
  expect([end.outcome, at.wrote()]).toEqual(["blocked", []]);
});

test("a day that was looked at after the approval holds when a call in doubt is made again", async () => {
  const day = 'const today = mcp_call("shop/check_status");\nif (today > "2026-12-10") throw new Error("too late");\n';
  const agent = `${header("mcp, approval")}mcp_call("shop/check_status");\napproval_wait({ title: "Pay?", calls: [${OTHER}] });\n${day}mcp_call(${OTHER});\n1;`;
  const { at, owner } = await open(agent);
  at.mood({ says: "2026-12-01" });
  const waiting = await run(owner, "pays");
  at.mood({ says: "2026-12-02", kill: "self", at: "before" });
  const doubt = await decide(owner, waiting.id, "approved");
  expect([doubt.reason, doubt.error?.message]).toEqual(["in_doubt", undefined]);
  at.mood({ says: "2027-01-15" });
  const end = await decide(owner, waiting.id, "rejected");
  expect([end.error?.message ?? null, end.outcome, at.wrote()]).toEqual([null, "blocked", []]);
});

test("a write refused by its tool is not an act: earlier reads are made again", async () => {
  const tries = PAY.replace("pay_blind", "pay_invoice");
  const agent = `${begin.replace(/"pay", facts: .*? }/, '"open", facts: { fine: true }')}fsm_enter("APPROVAL_GATE");\napproval_wait({ title: "Try?", calls: [${tries}] });\nfsm_enter("MUTATE");\nmcp_try(${tries});\nmcp_call(${PAY});\n1;`;
  const { at, owner } = await open(agent);
  at.mood({ ...bill("50.00"), refuses: { error: "no money" } });
  const waiting = await run(owner, "pays");
  expect(waiting.error?.message).toBeUndefined();
  const asked = await decide(owner, waiting.id, "approved");
  expect([asked.status, asked.error?.message]).toEqual(["waiting", undefined]);
  at.mood(bill("900.00"));
  const end = await decide(owner, waiting.id, "approved");
  expect([end.outcome, at.wrote()]).toEqual(["blocked", []]);
});

test("a slow tool keeps its turn until it has answered", async () => {
  const facts = 'facts: { amount: found.amount, kind: found.status === "open" ? "fine" : "bad" }';
  const agent = `${begin.replace(/facts: .*? }/, facts)}${ASK}mcp_call(${PAY});\n1;`;
  const at = await shop({ "agents/pays.ts": agent }, true);
  at.mood({ delay: 2500 });
  const owner = await host(at);
  const both = [await run(owner, "pays"), await run(owner, "pays")];
  expect(both.map((one) => one.error?.message ?? one.status)).toEqual(["waiting", "waiting"]);
  const first = decide(owner, both[0]!.id, "approved");
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const real = performance.now.bind(performance);
  const ahead = vi.spyOn(performance, "now").mockImplementation(() => real() + 11_000);
  const second = await decide(owner, both[1]!.id, "approved").finally(() => ahead.mockRestore());
  expect([(await first).outcome, second.outcome, at.wrote().length]).toEqual(["completed", "blocked", 1]);
});
