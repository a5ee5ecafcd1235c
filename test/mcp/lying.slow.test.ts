/** A process whose tool server lies about its writes: what is told, who is asked, and that nothing is paid twice. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { editCalls } from "../../runtime/rules/edits.ts";
import type { RunRecord } from "../../runtime/kernel/ports.ts";
import { close, closeAll, decide, host, openCard, removeAll, run, type Workspace, workspace } from "../engine/harness.ts";
import type { Books, Lie } from "./lying-server.ts";
import { share } from "../share.ts";

vi.setConfig({ testTimeout: 60_000 });
afterEach(closeAll);
afterAll(removeAll);

const AGENT = (tool: string, first = ""): string => `/*
name: Pays
description: Pay an invoice and tell somebody
uses: [fsm, mcp, policy, notify]
input:
  invoice_id: {type: string, default: I-1}
states: [ASSESS, POLICY_CHECK, MUTATE, SCHEDULE_NOTIFY]
*/
fsm_enter("ASSESS");
const { invoice_id, amount } = mcp_call({ tool: "bank/get_invoice", params: { invoice_id: input.invoice_id } });
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "open", facts: { amount } });
fsm_enter("MUTATE");
${first}
mcp_call({ tool: "bank/${tool}", params: { invoice_id, amount } });
fsm_enter("SCHEDULE_NOTIFY");
notify_send({ to: "pat", subject: "Paid", text: "Paid " + amount });
({ paid: amount });`;

const VERIFY = "verify: {read: get_invoice, key: {invoice_id: invoice_id}, expect: {status: paid, paid_amount: $amount}";

interface Bank extends Workspace {
  opened: Host;
  lie(how: Lie): void;
  paid(): string[];
}

async function bank(how: Lie): Promise<Bank> {
  const one = await workspace();
  const folder = `${one.dir} bank`;
  mkdirSync(folder);
  const lie = (now: Lie): void => writeFileSync(join(folder, "lie"), now);
  lie(how);
  const server = `mcp:
  bank:
    command: ${process.execPath}
    args: [${join(import.meta.dirname, "lying-server.ts")}, ${folder}]
    trusted: true
    tools:
      pay_invoice: {class: mutate, ${VERIFY}, before: {status: open}}}
      pay_undeclared: {class: mutate, ${VERIFY}}}
      pay_blind: {class: mutate}
`;
  one.commit({
    "trust.yaml": one.read("trust.yaml").replace(/^mcp: \{\}.*(?:\n {2}.*)*$/m, server),
    "policies/open.yaml":
      "process: open\nsource: test\nfacts: {amount: money}\nrules:\n  - {id: BIG, when: 'amount > 1000.00', action: require_approval, description: a test}\n",
    "agents/pays.ts": AGENT("pay_invoice"),
    "agents/pays_undeclared.ts": AGENT("pay_undeclared"),
    "agents/pays_blind.ts": AGENT("pay_blind"),
    // Two payments, and each is judged.
    "agents/pays_two.ts": AGENT("pay_invoice", `mcp_call({ tool: "bank/pay_invoice", params: { invoice_id: "I-2", amount } });`).replace(
      /policy_evaluate.*;/,
      (judged) => `${judged}\n${judged}`,
    ),
  });
  const file = join(folder, "books.json");
  const paid = () =>
    (existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Books).paid : []).map((one) => `${one.invoice_id} ${one.amount}`);
  return { ...one, opened: await host(one), lie, paid };
}

const notices = ({ opened }: Bank) =>
  opened.database.all<{ notice: string }>("SELECT payload AS notice FROM notices").map((one) => one.notice);
const WAITS = { error: null, status: "waiting", reason: "escalation" };

test("an honest server: done, without asking anybody", async () => {
  const at = await bank("honest");
  expect(await run(at.opened, "pays")).toMatchObject({ error: null, status: "done", outcome: "completed", result: { paid: "120.00" } });
  expect(at.paid()).toEqual(["I-1 120.00"]);
});

const LYING: [Lie, string][] = [
  ["nothing", "paid_amount is 0.00, not 120.00"],
  ["other", "paid_amount is 1200.00, not 120.00"],
  ["partial", "status is open, not paid"],
  ["vanishes", "invoice_id is null, not I-1"],
];

test.each(share(LYING, 2, String))("%s: nothing follows the write before a person has checked it", async (how, says) => {
  const at = await bank(how);
  const first = await run(at.opened, "pays_two");
  expect(first).toMatchObject(WAITS);
  expect(openCard(at.opened, first.id)).toMatchObject({ title: expect.stringMatching(/^MISMATCH: bank\/pay_invoice/), calls: [] });
  expect(at.paid().filter((one) => one.startsWith("I-1"))).toEqual([]);
  const stopped = await decide(at.opened, first.id, "rejected", { reason: "look at I-2" });
  expect(stopped).toMatchObject({ status: "done", outcome: "rejected", result: { reason: expect.stringContaining("look at I-2") } });
  expect(JSON.stringify(stopped.result)).toContain("MISMATCH bank/pay_invoice(invoice_id=I-2");
  expect(notices(at)).toEqual([]);
  const second = await run(at.opened, "pays");
  expect(second).toMatchObject(WAITS);
  expect(JSON.stringify(openCard(at.opened, second.id).body)).toContain(says.replace("I-2", "I-1"));
  const gone = await decide(at.opened, second.id, "approved");
  expect(gone).toMatchObject({
    error: null,
    outcome: "completed",
    result: { paid: "120.00", not_verified: [expect.stringContaining(says)] },
  });
  expect(gone.meta).toMatchObject({ writes: { n: 1, verified: 0, not_verified: [expect.stringContaining("MISMATCH")] } });
  expect(notices(at).join()).toContain("Not verified");
});

test("a write that could not be verified is not reported as done before a person says so", async () => {
  const at = await bank("honest");
  const end = await run(at.opened, "pays_blind");
  expect(end).toMatchObject(WAITS);
  expect(notices(at)).toEqual([]);
  expect(await decide(at.opened, end.id, "approved")).toMatchObject({
    outcome: "completed",
    result: { not_verified: [expect.any(String)] },
  });
});

test.each(["pays", "pays_undeclared"])("%s: acts and answers with an error: its record shows it, paid once", async (agent) => {
  const at = await bank("errs");
  expect(await run(at.opened, agent)).toMatchObject({ error: null, outcome: "completed" });
  expect(at.paid()).toEqual(["I-1 120.00"]);
});

test("refuses: the run fails, a card says what was done, and the next run pays", async () => {
  const at = await bank("honest");
  await run(at.opened, "pays", { invoice_id: "I-2" });
  at.lie("refuses");
  const end = await run(at.opened, "pays_two");
  expect(end).toMatchObject({
    status: "failed",
    error: { code: "TOOL_FAILED", message: expect.stringContaining("not undone: VERIFIED bank/pay_invoice") },
  });
  const titles = at.opened.cards.list({ open: true, run: end.id }).map((one) => one.title);
  expect(titles).toEqual(["pays_two stopped: bank/pay_invoice failed"]);
  at.lie("honest");
  await run(at.opened, "pays_two");
  expect(at.paid()).toEqual(["I-2 120.00", "I-1 120.00"]);
});

test.each([
  ["errs_unseen", "pays"],
  ["errs_unseen", "pays_undeclared"],
  ["errs", "pays_blind"],
  ["refuses", "pays_blind"],
] as const)("%s, %s: nobody knows, so a person is asked, and nothing is sent again", async (how, agent) => {
  const at = await bank(how);
  let end: RunRecord = await run(at.opened, agent);
  expect(end).toMatchObject({ error: null, status: "waiting", reason: "in_doubt" });
  expect(openCard(at.opened, end.id).body).toMatchObject({ said: expect.stringContaining("could not be completed") });
  const before = at.paid();
  // The same question after the process has gone.
  await close(at.opened);
  at.opened = await host(at);
  end = await at.opened.engine.result(end.id, { timeoutMs: 15_000 });
  expect(end).toMatchObject({ status: "waiting", reason: "in_doubt" });
  expect(at.opened.cards.list({ open: true, run: end.id })).toHaveLength(1);
  const done = await decide(at.opened, end.id, "approved");
  // The server was started again: what can be read by then is believed before the person is.
  const said = agent === "pays_blind" ? { not_verified: [expect.stringContaining("a person says")] } : { paid: "120.00" };
  expect(done).toMatchObject({ error: null, outcome: "completed", result: said });
  expect(at.paid()).toEqual(before);
});

test("a stale read after an error: the next run finds it done and pays nothing", async () => {
  const at = await bank("errs_stale");
  expect(await run(at.opened, "pays")).toMatchObject({ status: "failed", error: { code: "TOOL_FAILED" } });
  at.lie("honest");
  expect(await run(at.opened, "pays")).toMatchObject({ error: null, outcome: "completed" });
  expect(at.paid()).toEqual(["I-1 120.00"]);
});

test("an edited call is validated against its tool before the approval counts", async () => {
  const at = await bank("honest");
  at.commit({
    "agents/asks.ts": AGENT("pay_invoice")
      .replace("states: [ASSESS, POLICY_CHECK, MUTATE", "states: [ASSESS, POLICY_CHECK, APPROVAL_GATE, MUTATE")
      .replace("[fsm, mcp, policy, notify]", "[fsm, mcp, policy, notify, approval]")
      .replace(
        'fsm_enter("MUTATE");\n',
        'fsm_enter("APPROVAL_GATE");\nconst { calls } = approval_wait({ title: "Pay?", calls: [{ tool: "bank/pay_invoice", params: { invoice_id, amount, credit_days: 1 } }] });\nfsm_enter("MUTATE");\n',
      )
      .replace(/mcp_call\(\{ tool: "bank\/pay_invoice", params: \{ invoice_id, amount \} \}\)/, "mcp_call(calls[0])"),
  });
  const { id } = await run(at.opened, "asks");
  const edit = (sets: Record<string, string>) => decide(at.opened, id, "edited", { calls: editCalls(openCard(at.opened, id).calls, sets) });
  await expect(edit({ amount: "60" })).rejects.toMatchObject({
    code: "USAGE",
    message: expect.stringMatching(/amount takes type string, pattern \^/),
  });
  // Beside an amount it could be another one.
  await expect(edit({ credit_days: "1.5" })).rejects.toMatchObject({ code: "APPROVAL_EDIT" });
  expect(at.opened.cards.list({ open: true, run: id })).toHaveLength(1);
  expect(await edit({ amount: "60.00" })).toMatchObject({ error: null, status: "done", outcome: "completed" });
  expect(at.paid()).toEqual(["I-1 60.00"]);
});

const GATED = (mutate: string, asks = ""): string =>
  AGENT("pay_invoice")
    .replace("POLICY_CHECK, MUTATE", "POLICY_CHECK, APPROVAL_GATE?, MUTATE")
    .replace("[fsm, mcp, policy, notify]", "[fsm, mcp, policy, notify, approval, compute]")
    .replace(/fsm_enter\("MUTATE"\);[\s\S]*/, `${asks}fsm_enter("MUTATE");\n${mutate}\n({ paid: amount });`);
const PAY = (id: string): string => `mcp_call({ tool: "bank/pay_invoice", params: { invoice_id: "${id}", amount } });`;
const ASK = `approval_wait({ title: "Pay?", calls: [{ tool: "bank/pay_invoice", params: { invoice_id, amount } }] });\n`;

test("an amount that no policy judged in this run needs an approval, with both shown; so does one judged once and paid twice", async () => {
  const at = await bank("honest");
  const other = GATED(PAY("I-1")).replace("facts: { amount }", 'facts: { amount: "5.00" }');
  at.commit({ "agents/other.ts": other, "agents/twice.ts": GATED(`${PAY("I-1")}\n${PAY("I-2")}`) });
  const { id, ...end } = await run(at.opened, "other");
  expect(end).toMatchObject({ error: null, status: "waiting", reason: "approval" });
  expect(openCard(at.opened, id).body).toEqual({
    not_judged: "The policy judged amount 5.00; it has not judged bank/pay_invoice amount 120.00.",
  });
  expect(openCard(at.opened, id).brief).toMatchObject({ sections: { request_summary: expect.stringContaining("amount: 120.00") } });
  expect(await decide(at.opened, id, "rejected")).toMatchObject({ outcome: "rejected" });
  expect(at.paid()).toEqual([]);
  expect(await run(at.opened, "twice")).toMatchObject({ error: null, status: "waiting", reason: "approval" });
  expect(at.paid()).toEqual(["I-1 120.00"]);
});

test("a rejection ends the process at its next gate, and ESCALATE shows its reason", async () => {
  const at = await bank("honest");
  at.commit({
    "agents/again.ts": GATED(PAY("I-1"), `fsm_enter("APPROVAL_GATE");\n${ASK}${ASK}`),
    "agents/odd.ts": GATED(PAY("I-1"), 'fsm_enter({ state: "ESCALATE", reason: "The vendor has moved" });\nfsm_enter("APPROVAL_GATE");\n'),
  });
  const asked = await run(at.opened, "again");
  expect(await decide(at.opened, asked.id, "rejected", { reason: "not now" })).toMatchObject({
    outcome: "rejected",
    result: { reason: expect.stringContaining("not now") },
  });
  expect(at.opened.cards.list({ run: asked.id })).toHaveLength(1);
  const odd = await run(at.opened, "odd");
  expect(odd).toMatchObject({ status: "waiting", reason: "escalation" });
  expect(openCard(at.opened, odd.id).title).toBe("The vendor has moved");
});
