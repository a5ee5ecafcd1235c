/** A workspace that goes on in another folder, with the store it had at the first: what was sent from there is not sent again without a person. */
import { afterAll, afterEach, expect, it } from "vitest";
import { close, closeAll, copyOf, decide, host, openCard, removeAll, run, signed } from "../engine/harness.ts";
import { header, shop } from "../gate/shop.ts";

const PAY = { tool: "shop/pay_blind", params: { invoice_id: "I-1" } };
const ASKS = `${header("mcp, approval")}mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });
const { calls } = approval_wait({ title: "Pay?", calls: [${JSON.stringify(PAY)}] });
for (const call of calls) mcp_call(call);
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
  const said = { said: expect.stringMatching(/^It may have been sent from where this folder came from/) };
  expect(openCard(there, id)).toMatchObject({ title: "Did mcp_call happen?", body: said });
  expect(at.wrote()).toEqual([PAY]);
  expect(await decide(there, id, "approved", { result: { ok: true } })).toMatchObject({ outcome: "completed" });
  expect(at.wrote()).toEqual([PAY]);
});
