/** A run that waits goes on with what it began with, whatever is changed meanwhile; and of those who answer it at once one is heard. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import type { RunRecord } from "../../runtime/kernel/ports.ts";
import { abandon, close, closeAll, decide, host, openCard, removeAll, run } from "../engine/harness.ts";
import { header, PACK, type Shop, shop, STATES } from "./shop.ts";
import { share } from "../share.ts";

const agent = (to: string): string => `${header("fsm, mcp, policy, approval, agent:looks", STATES)}fsm_enter("ASSESS");
mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "${to}" } });
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "pay", facts: { amount: "500.00", kind: "x" } });
fsm_enter("APPROVAL_GATE");
approval_wait({ title: "Pay ${to}?", calls: [{ tool: "shop/pay_blind", params: { invoice_id: "${to}" } }] });
fsm_enter("MUTATE");
mcp_call({ tool: "shop/pay_blind", params: { invoice_id: "${to}" } });
({ paid: "${to}" });`;
const ASKS = `${header("approval", "mutates: false\n")}({ said: approval_wait({ title: "Go on?", calls: [] }).decision });`;
const PARENT = `${header("fsm, agent:looks", "states: [ASSESS]\n")}fsm_enter("ASSESS");\n({ child: agent_call({ agent: "looks" }) });`;
const FILES = { "agents/pays.ts": agent("I-1"), "agents/looks.ts": ASKS, "agents/parent.ts": PARENT };

afterEach(closeAll);
afterAll(removeAll);

async function waiting(name = "pays"): Promise<{ one: Shop; opened: Host; run: RunRecord }> {
  const one = await shop(FILES);
  const opened = await host(one);
  const found = await run(opened, name);
  expect(found.status, String(found.error?.message)).toBe("waiting");
  return { one, opened, run: found };
}
const paid = (one: Shop): unknown[] => one.wrote().map((call) => call.params);

function takeOut(one: Shop, file: string): void {
  one.git("rm", "-q", file);
  one.git("commit", "-q", "-m", `revert: ${file}`);
}

const CHANGES: [what: string, change: (one: Shop) => void][] = [
  ["an edited script", (one) => one.commit({ "agents/pays.ts": agent("I-2") })],
  ["an edited script that is not committed", (one) => one.write("agents/pays.ts", agent("I-2"))],
  [
    "a script without a gate",
    (one) => one.commit({ "agents/pays.ts": `${header("mcp")}mcp_call({ tool: "shop/pay_blind", params: {} });` }),
  ],
  [
    "an edited policy",
    (one) => one.commit({ "policies/pay.yaml": PACK("pay").replace("500.00", "9.00").replace("require_approval", "block") }),
  ],
  ["a policy that is gone", (one) => takeOut(one, "policies/pay.yaml")],
  ["a reverted script", (one) => takeOut(one, "agents/pays.ts")],
  [
    "a trust.yaml that calls the tool a read",
    (one) => one.commit({ "trust.yaml": one.read("trust.yaml").replace("pay_blind: {class: mutate}", "pay_blind: {class: read}") }),
  ],
];

test.each(share(CHANGES, 3, String))("over %s and a kill: what was shown is paid, once", async (_, change) => {
  const { one, opened, run } = await waiting();
  change(one);
  await abandon(opened);
  const next = await host(one);
  expect(openCard(next, run.id).calls).toEqual([{ tool: "shop/pay_blind", params: { invoice_id: "I-1" } }]);
  const end = await decide(next, run.id, "approved");
  expect(end, String(end.error?.message)).toMatchObject({ status: "done", result: { paid: "I-1" } });
  expect(paid(one)).toEqual([{ invoice_id: "I-1" }]);
});

test("if trust.yaml no longer names the server, it fails with the reason, and nothing is paid", async () => {
  const { one, opened, run } = await waiting();
  one.commit({ "trust.yaml": one.read("trust.yaml").replace(/^mcp:\n(?: {2}.*\n)+/m, "mcp: {}\n") });
  await close(opened);
  const end = await decide(await host(one), run.id, "approved");
  expect(end.error).toMatchObject({ code: "TOOL_UNKNOWN" });
  expect(paid(one)).toEqual([]);
});

test.each<[string, Record<string, string> | null]>([
  ["its file is gone", null],
  ["it may write now", { "agents/looks.ts": ASKS.replace("mutates: false\n", "") }],
  [
    "it asks for an input now",
    { "agents/looks.ts": ASKS.replace("mutates: false\n", "mutates: false\ninput: {n: {type: integer, required: true}}\n") },
  ],
])("a waiting child is waited for, although %s", async (_, files) => {
  const { one, opened, run: parent } = await waiting("parent");
  if (files !== null) one.commit(files);
  else takeOut(one, "agents/looks.ts");
  const child = (await opened.engine.list({})).find((found) => found.parent === parent.id)?.id ?? "";
  await opened.engine.result(child, { timeoutMs: 100_000 });
  await decide(opened, child, "approved");
  const end = await opened.engine.result(parent.id, { ended: true, timeoutMs: 100_000 });
  expect(end, String(end.error?.message)).toMatchObject({
    status: "done",
    result: { child: { status: "done", result: { said: "approved" } } },
  });
});

const CLI = join(import.meta.dirname, "../../runtime/cli/main.ts");

function cleared(one: Shop, ...args: string[]): Promise<{ code: number; said: string }> {
  const child = spawn(process.execPath, [CLI, ...args], { cwd: one.dir, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stdout.on("data", (text) => (said += String(text)));
  child.stderr.on("data", (text) => (said += String(text)));
  return new Promise((resolve) => child.on("close", (code) => resolve({ code: code ?? -1, said })));
}

test("two processes decide one card at once: one decision counts, the other is refused", async () => {
  const { one, opened, run } = await waiting();
  const { id: card } = openCard(opened, run.id);
  await close(opened);
  const [yes, no] = await Promise.all([cleared(one, "approve", String(card)), cleared(one, "reject", String(card), "--reason", "no")]);
  const next = await host(one);
  const end = await next.engine.result(run.id, { ended: true, timeoutMs: 100_000 });
  const approved = next.cards.get(card)?.decision?.decision === "approved";
  expect([end.outcome, paid(one)]).toEqual(approved ? ["completed", [{ invoice_id: "I-1" }]] : ["rejected", []]);
  const [heard, told] = approved ? [yes, no] : [no, yes];
  expect(heard.said).not.toMatch(/CARD_CLOSED|OWNER_BUSY/);
  expect(told.said).toMatch(/CARD_CLOSED|OWNER_BUSY/);
});

test("many simultaneous decisions on one card make one payment", async () => {
  const { one, opened, run } = await waiting();
  const answers = await Promise.allSettled(
    Array.from({ length: 8 }, (_, i) => decide(opened, run.id, i % 2 === 0 ? "approved" : "rejected")),
  );
  const end = await opened.engine.result(run.id, { ended: true, timeoutMs: 100_000 });
  expect(paid(one)).toHaveLength(end.outcome === "completed" ? 1 : 0);
  expect(answers.some((one) => one.status === "fulfilled")).toBe(true);
});
