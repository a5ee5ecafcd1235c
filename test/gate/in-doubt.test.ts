/** A call of which nobody knows whether it happened: anybody may say that it did; to make it again needs what making it needed. */
import { afterAll, afterEach, expect, test } from "vitest";
import { BANK, begin, ended, logs, SIMPLE as PLUGIN_PAYS, say, TEAM, trustWith } from "../engine/gates.ts";
import { confirm } from "../confirm.ts";
import { abandon, close, closeAll, host, LATER, openCard, removeAll, workspace } from "../engine/harness.ts";
import { header, type Shop, shop, STATES } from "./shop.ts";

const PAY = { tool: "shop/pay_blind", params: { invoice_id: "I-1" } };
const SIMPLE = `${header("mcp, approval")}const { calls } = approval_wait({ title: "Pay?", level: "manager", calls: [${JSON.stringify(PAY)}] });
for (const call of calls) mcp_call(call);
"paid";
`;
const READ = SIMPLE.replace("pay_blind", "pay_invoice");
const TWO = `process: two
source: test
facts: {amount: decimal}
rules:
  - {id: TWO, when: "amount > 1", action: require_approval, level: manager, approvals: 2, description: a test}
`;
const BY_POLICY = `${header("mcp, fsm, policy, approval", STATES)}fsm_enter("ASSESS");
const due = mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "two", facts: { amount: due.amount } });
fsm_enter("APPROVAL_GATE");
approval_wait({ title: "Pay?", calls: [${JSON.stringify(PAY)}] });
fsm_enter("MUTATE");
mcp_call(${JSON.stringify(PAY)});
"paid";
`;

afterEach(closeAll);
afterAll(removeAll);

/** Zoe's run, approved, with a payment of which nobody knows: it was not made, or it was. */
async function inDoubt(agent: string, at: "before" | "after", ...approvers: string[]) {
  const files = { "agents/simple.ts": SIMPLE, "agents/read.ts": READ, "agents/judged.ts": BY_POLICY, "policies/two.yaml": TWO };
  const one: Shop = await shop(files);
  trustWith(one, { ...TEAM, Cara: { roles: ["manager"] } });
  const opened = await host(one);
  one.mood({ kill: "self", at, shut: at === "after" });
  const { id } = await begin(opened, agent, {}, "Zoe");
  for (const name of approvers) await say(name, opened, id);
  await expect.poll(async () => (await opened.engine.get(id))?.reason, { timeout: 30_000 }).toBe("in_doubt");
  one.mood({});
  return { one, opened, id };
}

test("whoever started the run, and whoever lacks the level of the gate, does not send it again; a manager does", async () => {
  const { one, opened, id } = await inDoubt("simple", "before", "Ann");
  expect(openCard(opened, id)).toMatchObject({ title: "Did mcp_call happen?", level: "manager", not_by: "Zoe" });
  await expect(say("Zoe", opened, id, "rejected")).rejects.toMatchObject({ code: "APPROVAL_SELF" });
  await expect(say("Leo", opened, id, "rejected")).rejects.toMatchObject({ code: "APPROVAL_LEVEL" });
  // Not by a row of the store either.
  await opened.engine.signal(id, openCard(opened, id).gate ?? "", { decision: "rejected", by: "Zoe", card: 1, at: 1 }, "k");
  expect(await opened.engine.result(id, { timeoutMs: 9000 })).toMatchObject({ status: "waiting", reason: "in_doubt" });
  expect(one.wrote()).toEqual([]);
  await say("Cara", opened, id, "rejected");
  expect(await ended(opened, id)).toMatchObject({ outcome: "completed", result: "paid" });
  expect(one.wrote()).toEqual([PAY]);
});

test("anybody may say that it happened, and then nothing is sent", async () => {
  const { one, opened, id } = await inDoubt("simple", "before", "Ann");
  await say("Zoe", opened, id, "approved", { result: { ok: true } });
  expect(await ended(opened, id)).toMatchObject({ outcome: "completed", result: "paid" });
  expect([one.wrote(), (await logs(opened, id)).at(-1)]).toEqual([[], expect.stringMatching(/^Zoe says that mcp_call happened/)]);
});

test("whoever says that it happened is believed, whatever its record says then", async () => {
  const { one, opened, id } = await inDoubt("read", "after", "Ann");
  await close(opened);
  // Its list lags behind.
  one.mood({ says: { invoice_id: "I-1", amount: "1.10", status: "open" } });
  const later = await host(one, { clock: LATER });
  await say("Zoe", later, id, "approved");
  expect(await ended(later, id)).toMatchObject({ outcome: "completed", result: "paid" });
  expect(one.wrote()).toHaveLength(1);
});

test("a key that trust.yaml declares only after a call was sent makes no repeat of it harmless", async () => {
  const { one, opened, id } = await inDoubt("simple", "after", "Ann");
  await close(opened);
  one.mood({});
  const keyed = one.read("trust.yaml").replace("pay_blind: {class: mutate}", "pay_blind: {class: mutate, idempotency_key: request_id}");
  one.commit({ "trust.yaml": keyed }, "trust: a key");
  confirm(one.dir);
  const later = await host(one, { clock: LATER });
  expect(await later.engine.result(id, { timeoutMs: 9000 })).toMatchObject({ status: "waiting", reason: "in_doubt" });
  await say("Zoe", later, id, "approved");
  expect(await ended(later, id)).toMatchObject({ outcome: "completed", result: "paid" });
  expect(one.wrote()).toHaveLength(1);
});

test("nor does one that a plugin declares only then", async () => {
  const hangs = BANK.replace('idempotent: "key",', "").replace(
    "return { ref: ctx.key };\n  } });\n//",
    "return new Promise(() => {});\n  } });\n//",
  );
  const one = await workspace({ "agents/simple.ts": PLUGIN_PAYS, "plugins/bank.ts": hangs });
  trustWith(one, TEAM);
  const first = await host(one);
  const { id } = await begin(first, "simple", { params: { to: "ACME", amount: "1.00" } }, "Zoe");
  const saying = say("Ann", first, id);
  await expect.poll(() => one.bank(), { timeout: 30_000 }).toEqual(["ACME 1.00"]);
  await abandon(first);
  await saying.catch(() => undefined);
  // A file of its own, because a process loads each plugin once.
  const keyed = { "trust.yaml": one.read("trust.yaml").replace("plugins/bank.ts", "plugins/keyed.ts"), "plugins/keyed.ts": BANK };
  one.commit(keyed, "plugin: a key");
  const later = await host(one, { clock: LATER });
  expect(await later.engine.result(id, { timeoutMs: 9000 })).toMatchObject({ status: "waiting", reason: "in_doubt" });
  await say("Zoe", later, id, "approved", { result: { ref: "seen" } });
  expect(await ended(later, id)).toMatchObject({ outcome: "completed" });
  expect(one.bank()).toEqual(["ACME 1.00"]);
});

test("where the policy asked two people, two people send it again", async () => {
  const { one, opened, id } = await inDoubt("judged", "before", "Ann", "Cara");
  expect(await say("Cara", opened, id, "rejected")).toMatchObject({ still: "1 more person" });
  expect(await opened.engine.result(id, { timeoutMs: 9000 })).toMatchObject({ status: "waiting", reason: "in_doubt" });
  await say("Ann", opened, id, "rejected");
  await expect.poll(() => one.wrote().length, { timeout: 30_000 }).toBe(1);
});

test("a payment that failed and is tried again keeps why it failed: that decides whether its record may settle it", async () => {
  const one = await shop({ "agents/read.ts": READ });
  trustWith(one, TEAM);
  const opened = await host(one);
  one.mood({ refuses: { error: "no funds" } });
  const { id } = await begin(opened, "read", {}, "Zoe");
  await say("Ann", opened, id);
  expect(await ended(opened, id)).toMatchObject({ status: "failed", error: { code: "TOOL_FAILED" } });
  await opened.engine.retry(id);
  await expect.poll(async () => (await opened.engine.get(id))?.reason, { timeout: 30_000 }).toBe("timer");
  expect((await opened.engine.steps(id)).at(-1)).toMatchObject({
    state: "intent",
    error: { message: expect.stringContaining("no funds") },
  });
});
