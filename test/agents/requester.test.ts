/** Who is told from whoever requested a case, by ids in trust.yaml: in the demo business, whose claims say who filed them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { wakeWaiting } from "../../runtime/app/wake.ts";
import { answer, business, finish, gateOf, open, run, shut } from "./harness.ts";

afterAll(finish);

const claim = (n: number) => ({ expense_id: `EXP-70${n}` });

test("an id counts at the server whose record names the requester, whatever ids people have elsewhere", async () => {
  const none = await business((trust) => trust.replaceAll("{erp: ", "{crm: ").replace('{"erp":', '{"crm":'));
  const asked = await run(none, "expense_approval", claim(1));
  expect(gateOf(none, asked)).toMatchObject({ requesters: ["E-1042"], requested_at: ["erp"] });
  expect((await answer(none, asked, "approved", "Mo")).status).toBe("waiting");
  const one = await business((trust) => trust.replace("{erp: Mo}", "{crm: E-1042}"));
  // Lee has an id at erp and none at crm.
  const end = await answer(one, await run(one, "expense_approval", claim(3)), "approved", "Lee");
  expect(end).toMatchObject({ outcome: "completed", result: { by: "Lee" } });
});

test("the yes of a person whose id is confirmed later is enough then", async () => {
  const at = await business((trust) => trust.replace("{erp: Mo}", "{}"));
  const asked = await run(at, "expense_approval", claim(1));
  await wakeWaiting(at.host);
  expect((await answer(at, asked, "approved", "Mo")).status).toBe("waiting");
  await shut(at.host);
  const file = join(at.dir, "trust.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("ids: {}}", "ids: {erp: E-2000}}"));
  const later = await open(at.dir);
  await wakeWaiting(later);
  const end = await later.engine.result(asked.id, { ended: true, timeoutMs: 20_000 });
  expect(end).toMatchObject({ outcome: "completed", result: { by: "Mo" } });
});
