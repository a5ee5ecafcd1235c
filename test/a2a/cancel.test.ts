/** A task that has acted outside: its caller is not told that nothing happened, whether it is canceled, fails or is rejected. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { ROOT, cleared, commit, workspace } from "../cli/command-line.ts";
import { type Any, type Served, again, rpc, said, skill } from "./client.ts";

let site: Served;
afterEach(() => site.started.stop("SIGKILL"));

test("a payment in flight cannot be canceled, and the task later reports what happened", async () => {
  const dir = await workspace();
  const bank = readFileSync(join(ROOT, "examples/pay/plugins/bank.ts"), "utf8");
  const slow = bank
    .replace("run: (p, ctx) => {", "run: async (p, ctx) => {")
    .replace(
      "    return { payment_id: ctx.key };",
      `    while (!existsSync(LEDGER + ".go")) await new Promise((done) => setTimeout(done, 20));\n    return { payment_id: ctx.key };`,
    );
  const trust = readFileSync(join(dir, "trust.yaml"), "utf8").replace("plugins: []", "plugins: [plugins/bank.ts]");
  const agent = readFileSync(join(ROOT, "examples/pay/agents/pay.ts"), "utf8").replace("/*\n", "/*\ntrigger: a2a\n");
  await commit(dir, { "plugins/bank.ts": slow, "trust.yaml": trust, "agents/pay.ts": agent });
  site = await again(dir);
  const input = { to: "ACME", amount: "120.00" };
  const waits = (await rpc(site, "message/send", { message: said("pay", { ...skill("pay") }), metadata: { input } })).result;
  const approved = cleared(dir, "approve", String(waits.status.message.parts[1].data.reviewId));
  await expect.poll(() => existsSync(join(dir, "payments.log"))).toBe(true);
  const answer = await rpc(site, "tasks/cancel", { id: waits.id });
  expect(answer.error).toMatchObject({ code: -32002, message: expect.stringContaining("outside") });
  writeFileSync(join(dir, "payments.log.go"), "");
  await approved;
  await expect.poll(async () => (await rpc(site, "tasks/get", { id: waits.id })).result.status.state).toBe("completed");
});

test("a task that fails or is rejected after paying tells its caller what it paid", async () => {
  const dir = await workspace();
  const trust = readFileSync(join(dir, "trust.yaml"), "utf8").replace("plugins: []", "plugins: [plugins/bank.ts]");
  const pay = (then: string) => `/*
name: Pay twice
trigger: a2a
uses: [approval, bank]
input: {to: {type: string, required: true}}
*/
const payment = { to: input.to, amount: "120.00" };
approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: payment }] });
bank_pay(payment);
${then}
`;
  const more = 'approval_wait({ title: "Pay once more?", calls: [{ tool: "bank_pay", params: payment }] });\n({ summary: "paid" });';
  await commit(dir, {
    "plugins/bank.ts": readFileSync(join(ROOT, "examples/pay/plugins/bank.ts"), "utf8"),
    "trust.yaml": trust,
    "agents/breaks.ts": pay("const rows: { name: string }[] = [];\nrows[3].name;"),
    "agents/twice.ts": pay(more),
  });
  site = await again(dir);
  const give = async (agent: string) =>
    (await rpc(site, "message/send", { message: said("pay", skill(agent)), metadata: { input: { to: "ACME" } } })).result;
  const decide = async (task: Any, word: string, code: number): Promise<Any> => {
    expect((await cleared(dir, word, String(task.status.message.parts[1].data.reviewId))).code).toBe(code);
    return (await rpc(site, "tasks/get", { id: task.id })).result;
  };
  const paid = expect.stringMatching(/^It had acted outside before: bank_pay .*ACME/);
  const failed = await decide(await give("breaks"), "approve", 1);
  expect(failed.status).toMatchObject({
    state: "failed",
    message: { parts: [{ text: expect.stringMatching(/^SCRIPT_/) }, { text: paid }, {}] },
  });
  expect(failed.status.message.parts[2].data).toMatchObject({ left: { stands: [], not_verified: [expect.stringContaining("120.00")] } });
  const rejected = await decide(await decide(await give("twice"), "approve", 0), "reject", 0);
  expect(rejected.status).toMatchObject({
    state: "rejected",
    message: { parts: [{ text: expect.stringMatching(/^rejected: /) }, { text: paid }, {}, {}] },
  });
});
