/** Who is told from whoever requested a case, by ids in trust.yaml: in the demo business, whose claims say who filed them. */
import { afterAll, expect, test } from "vitest";
import { answer, business, finish, gateOf, run } from "./harness.ts";

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
