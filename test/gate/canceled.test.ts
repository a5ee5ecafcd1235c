/** A run that is canceled, by whomever, leaves what it did outside: a person of the business hears what stands, and what nobody knows. */
import { afterAll, afterEach, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { close, closeAll, decide, host, openCard, removeAll, start, workspace } from "../engine/harness.ts";
import { header, shop } from "./shop.ts";
import type { Mood } from "./shop-tools.ts";

afterEach(closeAll);
afterAll(removeAll);

const pays = (tool: string): string => `${header("mcp, approval")}for (const invoice_id of ["I-1", "I-2"]) {
  const call = { tool: "shop/${tool}", params: { invoice_id, amount: "1.10" } };
  approval_wait({ title: "Pay " + invoice_id + "?", calls: [call] });
  mcp_call(call);
}
"paid";
`;
const notes = (opened: Host, run: string) => opened.cards.list({ run }).filter(({ kind }) => kind === "note");

test.each<[what: string, tool: string, mood: Mood, says: object]>([
  [
    "after a payment that was verified",
    "pay_invoice",
    {},
    { stands: ["VERIFIED shop/pay_invoice(invoice_id=I-1, amount=1.10)"], not_verified: [] },
  ],
  [
    "after one that nobody could look up",
    "pay_blind",
    {},
    { stands: [], not_verified: [expect.stringMatching(/^UNVERIFIABLE shop\/pay_blind\(/)] },
  ],
  [
    "while nobody knows whether it was made",
    "pay_blind",
    { kill: "self", at: "after" },
    { stands: [], not_verified: [expect.stringMatching(/^mcp_call .*I-1.*: it is unknown whether it happened$/)] },
  ],
])("canceled %s: its question closes, and a card reports what it leaves behind", async (_, tool, mood, says) => {
  const one = await shop({ "agents/two.ts": pays(tool) });
  const opened = await host(one);
  one.mood(mood);
  const id = await start(opened, "two");
  await opened.engine.result(id, { timeoutMs: 100_000 });
  expect(await decide(opened, id, "approved")).toMatchObject({ status: "waiting" });
  expect(openCard(opened, id).title).toMatch(mood.kill === undefined ? /I-2/ : /^Did mcp_call happen/);
  await opened.engine.cancel(id, "bot canceled the task");
  const [left, ...more] = notes(opened, id);
  expect([left, more]).toMatchObject([{ body: { about: { why: "bot canceled the task", ...says } }, decision: null }, []]);
  expect(opened.cards.list({ run: id, open: true })).toEqual([left]);
  const [ended] = (await Array.fromAsync(opened.engine.events(id, 1))).filter(({ type }) => type === "ended");
  expect(ended?.body).toMatchObject({ reason: expect.stringMatching(/^bot canceled the task\. It had acted outside: .*I-1/) });
  if (left !== undefined) await decideCard(opened, signAs(opened.dir, opened.trust, { ...asked(left), decision: "approved", at: 1 }));
  expect(opened.cards.list({ run: id, open: true })).toEqual([]);
});

test("canceled before it, or a run it called, has acted, it leaves no card", async () => {
  const calls = `${header("agent:gate, approval")}approval_wait({ title: "Call?", calls: [{ tool: "agent_call", params: { agent: "gate", input: {} } }] });\nagent_call({ agent: "gate", input: {} });\n`;
  const one = await workspace({ "agents/calls.ts": calls });
  const opened = await host(one);
  const id = await start(opened, "calls");
  await opened.engine.result(id, { timeoutMs: 100_000 });
  await decide(opened, id, "approved");
  const [child] = await opened.engine.list({ agent: "gate", limit: 1 });
  expect(child).toMatchObject({ parent: id });
  await opened.engine.result(child?.id ?? "", { timeoutMs: 100_000 });
  await opened.engine.cancel(id, "by hand");
  expect([...notes(opened, id), ...notes(opened, child?.id ?? "")]).toEqual([]);
  await close(opened);
});
