/** Who counts as the person that requested a case: ids are compared as a reader sees them, and a redacted one names nobody. */
import { afterAll, afterEach, expect, test } from "vitest";
import { AGENT, POLICY, begin, ended, made, refused, say } from "./gates.ts";
import { closeAll, openCard, removeAll } from "./harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const team = async (id: string) => {
  const { one, opened } = await made({
    Ann: { roles: ["manager"], ids: { erp: id } },
    Bob: { roles: ["manager"], ids: { erp: "E-9" } },
    Zoe: {},
  });
  one.commit({
    "policies/pay.yaml": POLICY.replace("facts:", "requester: filed_by\nfacts:"),
    "agents/asks.ts": AGENT.replace("default: plain}", "default: plain}, filed_by: {type: string}")
      .replace("uses: [", "uses: [privacy, ")
      .replace("kind: input.kind", "kind: input.kind, filed_by: privacy_scan(input.filed_by).redacted"),
  });
  return opened;
};

test.each([
  ["Jose\u0301", "Jos\u00e9"],
  ["E-1042", "E\u20111042\u200b"],
  ["E\u22121042", "Ｅ-10\u{e0042}42\u00a0"],
])("an id that is stored as %j and recorded as %j is one person's", async (stored, recorded) => {
  const opened = await team(stored);
  const { id } = await begin(opened, "asks", { filed_by: recorded }, "Zoe");
  await expect(say("Ann", opened, id)).rejects.toMatchObject(refused("APPROVAL_SELF", /who requested this.*decided by Bob\./));
  await say("Bob", opened, id);
  expect(await ended(opened, id)).toMatchObject({ outcome: "completed", result: { by: "Bob" } });
});

test("an id that was redacted because it has the form of an identity number names nobody, so two people must agree", async () => {
  const opened = await team("123-45-6789");
  const { id } = await begin(opened, "asks", { filed_by: "123-45-6789" }, "Zoe");
  const card = openCard(opened, id);
  expect([card.approvals, card.requesters]).toEqual([2, undefined]);
  await say("Ann", opened, id);
  expect((await opened.engine.result(id, { timeoutMs: 9000 })).status).toBe("waiting");
  await say("Bob", opened, id);
  expect(await ended(opened, id)).toMatchObject({ outcome: "completed", result: { by: "Ann, Bob" } });
});
