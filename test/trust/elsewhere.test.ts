/** A workspace that goes on in another folder, or with an older store: what was sent from there, or started before, is not sent again without a person. */
import { randomUUID } from "node:crypto";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import type { Host } from "../../runtime/app/host.ts";
import { createMcpCalls } from "../../runtime/app/mcp-api.ts";
import { tasksOf } from "../../runtime/app/tasks.ts";
import { close, closeAll, copyOf, decide, host, openCard, removeAll, run, signed } from "../engine/harness.ts";
import { header, shop, STATES } from "../gate/shop.ts";

const PAY = { tool: "shop/pay_blind", params: { invoice_id: "I-1" } };
const ASKS = `${header("mcp, approval")}mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });
const { calls } = approval_wait({ title: "Pay?", calls: [${JSON.stringify(PAY)}] });
for (const call of calls) mcp_call(call);
"paid";
`;
const BY_POLICY = `${header("mcp, fsm, policy, approval", `trigger: [a2a, mcp]\n${STATES}`)}fsm_enter("ASSESS");
const due = mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "open", facts: { fine: true, amount: due.amount } });
fsm_enter("MUTATE");
mcp_call(${JSON.stringify(PAY)});
"paid";
`;

afterEach(closeAll);
afterAll(removeAll);

it("an approval that was used there pays here only once a person says that it did not happen", async () => {
  const at = await shop({ "agents/pays.ts": ASKS });
  const owner = await host(at);
  const { id } = await run(owner, "pays");
  await close(owner);
  const looking = await host(at, { mode: "look" });
  const { gate } = openCard(looking, id);
  await looking.engine.signal(id, gate ?? "", signed(looking, id, gate), "yes");
  await close(looking);
  const copy = copyOf(at);
  const first = await host(at);
  expect((await first.engine.result(id, { ended: true, timeoutMs: 100_000 })).error).toBeNull();
  await close(first);
  expect(at.wrote()).toEqual([PAY]);
  const there = await host(copy);
  expect(await there.engine.result(id, { timeoutMs: 100_000 })).toMatchObject({ status: "waiting", reason: "in_doubt" });
  const said = { said: expect.stringMatching(/was sent before|^It may have been sent from where this folder came from/) };
  expect(openCard(there, id)).toMatchObject({ title: "Did mcp_call happen?", body: said });
  expect(at.wrote()).toEqual([PAY]);
  expect(await decide(there, id, "approved", { result: { ok: true } })).toMatchObject({ outcome: "completed" });
  expect(at.wrote()).toEqual([PAY]);
});

it("a tick that was due before the folder was here, and may have been started there, pays nothing by policy; a later one does", async () => {
  const at = await shop({ "agents/pays.ts": BY_POLICY });
  await close(await host(at));
  const there = await host(copyOf(at));
  const start = async (minutes: number) => {
    const tick = new Date(Date.now() + minutes * 60_000).toISOString();
    const { id } = await there.start("pays", { cause: { kind: "schedule", key: `* * * * *@${tick}`, detail: { tick } }, input: {} });
    await there.engine.result(id, { timeoutMs: 100_000 });
    return openCard(there, id).title;
  };
  expect([await start(-1), at.wrote().length]).toEqual(["Did mcp_call happen?", 0]);
  expect([await start(1), at.wrote().length]).toEqual([expect.stringMatching(/^UNVERIFIABLE: shop\/pay_blind wrote/), 1]);
});

const ME = { owner: "LOCAL", agents: null, token: null };
const task = (owner: Host, id: string, more: { alias?: string; key?: string } = {}) =>
  tasksOf(owner).send(ME, { message: { id, parts: [{ data: { input: {} } }] }, metadata: { skill: "pays" }, ...more });
const ID = randomUUID();

/** Ways to start a run that are repeated from outside. */
const STARTS: { [how: string]: (owner: Host) => Promise<unknown> } = {
  tick: (owner) => owner.start("pays", { cause: { kind: "schedule", key: "0 6 * * *@2026-11-06T06:00" }, input: {} }),
  command: (owner) => createApi(owner).run({ agent: "pays", input: {}, key: "2026-11", wait: false }),
  message: (owner) => task(owner, ID),
  "tasks/send": (owner) => task(owner, "", { alias: "t1" }),
  "Idempotency-Key": (owner) => task(owner, "", { key: "k1" }),
  "idempotency_key of MCP": (owner) =>
    createMcpCalls(owner)({ name: "call", params: { caller: ME, agent: "pays", input: {}, key: "k2", waitMs: 0 } as never }),
};

it("what a store from a backup does not know is started again when it is repeated, and pays nothing without a person", async () => {
  const at = await shop({ "agents/pays.ts": BY_POLICY });
  const store = join(at.dir, ".cleared/store.db");
  await close(await host(at));
  copyFileSync(store, `${at.dir} backup.db`);
  const unread = "UNVERIFIABLE: shop/pay_blind wrote, but its record could not be read";
  const all = Object.keys(STARTS);
  for (const title of [unread, "Allow shop/pay_blind?"]) {
    const owner = await host(at);
    for (const how of [...all, ...all]) await STARTS[how]?.(owner);
    const runs = await owner.engine.list({ agent: "pays" });
    for (const { id } of runs) await owner.engine.result(id, { timeoutMs: 100_000 });
    expect(runs.map(({ id, cause }) => [cause.kind, openCard(owner, id).title])).toEqual(runs.map(({ cause }) => [cause.kind, title]));
    expect([runs.length, at.wrote().length]).toEqual([all.length, all.length]);
    await close(owner);
    copyFileSync(`${at.dir} backup.db`, store);
  }
});
