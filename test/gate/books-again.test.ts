/** What a run has read of the books, and what a child has read for it, is looked at again before it acts. */
import { afterAll, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { decide, host, removeAll, run, start } from "../engine/harness.ts";
import { header, type Shop, shop, STATES } from "./shop.ts";

afterAll(removeAll);

const books = (key: string, amount: string, debit = 5030, credit = 1010) =>
  `journal_add_double({ date: "2026-11-06", description: "Booked " + ${key}, debit_account: ${debit}, credit_account: ${credit}, amount: "${amount}", key: ${key}, status: "auto-confirmed" });\n`;
const ROOM = 'const room = new Decimal(journal_balance(1010).balance.USD).gte("100.00");\n';
const PAY = '{ tool: "shop/pay_blind", params: { invoice_id: input.id, note: "x" } }';
const ASK = `approval_wait({ title: "Pay?", calls: [${PAY}] });\n`;
const INPUT = "input: {id: {type: string, required: true}}\n";
const begin = (uses = "mcp, approval, journal, git, bank, fsm, policy") => header(uses, INPUT);
const BOOK = `${begin()}${books("input.id", "100.00")}1;`;
const GET = `${begin()}${books("input.id", "150.00", 1010, 4010)}1;`;

async function open(pays: string, more: Record<string, string> = {}): Promise<{ at: Shop; owner: Host }> {
  const at = await shop({ "agents/pays.ts": pays, "agents/book.ts": BOOK, "agents/get.ts": GET, ...more }, true);
  at.mood({ says: { invoice_id: "I-1", amount: "100.00", status: "open" } });
  const owner = await host(at);
  expect(await run(owner, "get", { id: "start" })).toMatchObject({ error: null, status: "done" });
  return { at, owner };
}

test("of two payments that each fit the balance only one is made, though a person approved both", async () => {
  const { at, owner } = await open(`${begin()}${ROOM}if (room) {\n${ASK}mcp_call(${PAY});\n${books("input.id", "100.00")}}\nroom;`);
  const both = [await run(owner, "pays", { id: "I-1" }), await run(owner, "pays", { id: "I-2" })];
  expect(both.map((one) => one.error?.message ?? one.status)).toEqual(["waiting", "waiting"]);
  const ends = await Promise.all(both.map((one) => decide(owner, one.id, "approved")));
  expect(ends.map((one) => one.error?.message ?? one.outcome).sort()).toEqual(["blocked", "completed"]);
  expect(at.wrote()).toHaveLength(1);
  expect(ends.find(({ outcome }) => outcome === "blocked")?.result).toMatchObject({
    reason: expect.stringContaining("it would end without mcp_call"),
  });
});

test("a run without approval does not use a balance that another run has changed meanwhile", async () => {
  const judged = 'fsm_enter("COMPUTE");\nfsm_enter("POLICY_CHECK");\npolicy_evaluate({ policy: "open", facts: { fine: room } });\n';
  const { at, owner } = await open(
    `${header("mcp, journal, bank, fsm, policy", INPUT + STATES)}fsm_enter("ASSESS");\n${ROOM}bank_slow(4000);\n${judged}fsm_enter("MUTATE");\nif (room) mcp_call(${PAY});\nroom;`,
  );
  const id = await start(owner, "pays", { id: "I-1" });
  while (at.bank().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await run(owner, "book", { id: "other" });
  const end = await owner.engine.result(id, { timeoutMs: 100_000, ended: true });
  expect([end.error?.message ?? null, end.outcome, at.wrote()]).toEqual([null, "blocked", []]);
});

test("its own bookings are not a change, whatever others have committed meanwhile", async () => {
  const { at, owner } = await open(
    `${begin()}${ROOM}${books("input.id", "100.00")}git_commit("import: reserved");\nif (room) {\n${ASK}mcp_call(${PAY});\n}\nroom;`,
  );
  const waiting = await run(owner, "pays", { id: "I-1" });
  expect([waiting.error?.message, waiting.status]).toEqual([undefined, "waiting"]);
  await run(owner, "get", { id: "more" });
  const end = await decide(owner, waiting.id, "approved");
  expect([end.error?.message ?? null, end.outcome, end.result, at.wrote().length]).toEqual([null, "completed", true, 1]);

  const second = await run(owner, "pays", { id: "I-2" });
  expect([second.error?.message, second.status]).toEqual([undefined, "waiting"]);
  for (const id of ["gone", "gone too"]) await run(owner, "book", { id });
  const blocked = await decide(owner, second.id, "approved");
  expect([blocked.outcome, at.wrote().length]).toEqual(["blocked", 1]);
});

test("what a read-only child has read is read again, and its result computed again", async () => {
  const looks = `${header("mcp, compute", "mutates: false\n")}const found = mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });\n({ open: found.status === "open" });\n`;
  const pays = `${begin("mcp, approval, agent:looks")}const { open } = agent_call({ agent: "looks" }).result;\nif (open) {\n${ASK}mcp_call(${PAY});\n}\nopen;`;
  const { at, owner } = await open(pays, { "agents/looks.ts": looks });
  const both = [await run(owner, "pays", { id: "I-1" }), await run(owner, "pays", { id: "I-2" })];
  const asks = () => owner.cards.list({ open: true }).filter(({ gate }) => gate !== null).length === 2;
  while (!asks()) await new Promise((resolve) => setTimeout(resolve, 20));
  at.mood({ says: { invoice_id: "I-1", amount: "101.00", status: "open" } });
  const paid = await decide(owner, both[0]!.id, "approved");
  expect([paid.error?.message ?? null, paid.outcome, at.wrote().length]).toEqual([null, "completed", 1]);
  at.mood({ says: { invoice_id: "I-1", amount: "101.00", status: "paid" } });
  const end = await decide(owner, both[1]!.id, "approved");
  expect([end.error?.message ?? null, end.outcome, at.wrote().length]).toEqual([null, "blocked", 1]);
});
