/** Canceling a task whose run is paying at this moment: its caller is not told that nothing happened. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { ROOT, cleared, commit, workspace } from "../cli/command-line.ts";
import { type Served, again, rpc, said, skill } from "./client.ts";

let site: Served;
afterEach(() => site.started.stop("SIGKILL"));

test("a payment that is on its way is not canceled, and afterwards it is told as what it is", async () => {
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
  await expect.poll(() => existsSync(join(dir, "payments.log")), { timeout: 60_000 }).toBe(true);
  const answer = await rpc(site, "tasks/cancel", { id: waits.id });
  expect(answer.error).toMatchObject({ code: -32002, message: expect.stringContaining("outside") });
  writeFileSync(join(dir, "payments.log.go"), "");
  await approved;
  await expect
    .poll(async () => (await rpc(site, "tasks/get", { id: waits.id })).result.status.state, { timeout: 60_000 })
    .toBe("completed");
});
