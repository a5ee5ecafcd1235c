/** A key that comes again: the same body is the same answer, another body is told and starts nothing. Over HTTP, on a real workspace. */
import { afterAll, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { hooksOf } from "../../runtime/app/timers.ts";
import type { Facts } from "../../runtime/app/facts.ts";
import { listen } from "../../runtime/outside/http.ts";
import { signBody } from "../../runtime/outside/notices/webhook.ts";
import { createStatusApp } from "../../runtime/web/app.ts";
import { openSecrets } from "../../runtime/workspace/settings/secrets.ts";
import { closeAll, host as opened, removeAll, workspace } from "../engine/harness.ts";

afterAll(closeAll);
afterAll(removeAll);

const AGENT = `/*
name: order
trigger: webhook
webhook: shop
input: {order: {type: integer}, note: {type: string, default: none}}
*/
input.order;
`;

test("a repeated key with another body is refused with the remedy, and with the same body gives the same answer", async () => {
  const at = await workspace({ "agents/order.ts": AGENT });
  const trust = at.read("trust.yaml").replace(/^webhooks: .*$/m, 'webhooks: {shop: {secret: "secret:shop_hook"}}');
  at.commit({ "trust.yaml": trust });
  await openSecrets(at.dir).set("shop_hook", "s3cret-hook");
  const host = await opened(at);
  const site = await listen(createStatusApp({} as Facts, { now: () => Date.now() }, hooksOf(host)), 0);
  const post = async (body: string) => {
    const headers = { "x-cleared-signature": signBody(body, "s3cret-hook", Date.now()), "idempotency-key": "order-7" };
    const answer = await fetch(`${site.url}/hooks/shop`, { method: "POST", body, headers });
    return {
      status: answer.status,
      body: (await answer.json()) as { run: string; created: boolean; error: { code: string; message: string } },
    };
  };
  try {
    const first = await post('{"order":7,"note":"a"}');
    expect(first).toMatchObject({ status: 202, body: { created: true } });
    expect(await post('{"note":"a", "order":7}')).toMatchObject({ status: 202, body: { created: false, run: first.body.run } });
    const other = await post('{"order":8,"note":"a"}');
    expect([other.status, other.body.error.code]).toEqual([409, "RUN_KEY"]);
    expect(other.body.error.message).toContain(first.body.run);
    expect(await host.engine.list({ agent: "order", limit: 9 })).toHaveLength(1);
    const run = (order: number) => createApi(host).run({ agent: "order", input: { order }, key: "k", wait: true });
    expect((await run(1)).id).toBe((await run(1)).id);
    await expect(run(2)).rejects.toMatchObject({ code: "RUN_KEY" });
  } finally {
    await site.close();
  }
});
