/** What a person may change before approving, and whose approval then counts: on real runs, with real keys. */
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { agreed, decideCard } from "../../runtime/app/decide.ts";
import type { Card } from "../../runtime/kernel/ports.ts";
import { recordsIn } from "../../runtime/rules/edits.ts";
import { TEAM, begin, ended, logs, made, refused, say, signedBy } from "./gates.ts";
import { closeAll, openCard, removeAll } from "./harness.ts";

afterEach(closeAll);
afterAll(removeAll);

describe("edit, then approve", () => {
  test("the run continues with the edited calls, its events list the changes, and the figure counts as given by a person", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "asks");
    await say("Ann", opened, id, "edited", agreed(openCard(opened, id), { amount: "50.25", "calls.0.params.note": "second" }));
    expect(await ended(opened, id)).toMatchObject({ status: "done", result: { decision: "edited", by: "Ann" } });
    expect(one.bank()).toEqual(["ACME 50.25"]);
    expect((await logs(opened, id))[0]).toMatch(
      /^Ann changed calls\.0\.params\.amount "120.00" -> "50.25", calls\.0\.params\.note "first" -> "second"/,
    );
  });

  test.each([
    ["pay_date", "2024-11-14", ["2024-11-31", "2030-13-45", "tomorrow", ""], "2024-11-15"],
    ["amount", "120.00", ["50.001", "0.0000001"], "50.5"],
    ["price", "0.0125", ["0.01251"], "0.0124"],
    ["approved_by", "@approver", ["Chief Executive", ""], null],
    ["reason", "@reason", ["because"], null],
  ])("an edit of %s %s is a value of the same kind", (key, was, refusedOnes, fine) => {
    const card = { kind: "approval", calls: [{ tool: "erp/pay", params: { [key]: was } }] } as unknown as Card;
    for (const text of refusedOnes) expect(() => agreed(card, { [key]: text }), text).toThrow(expect.objectContaining({ code: "USAGE" }));
    if (fine !== null) expect(agreed(card, { [key]: fine }).calls).toEqual([{ tool: "erp/pay", params: { [key]: fine } }]);
  });

  test("whom the run's input names is not exchanged, policy or not; what is paid may be less", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "simple", { params: { to: "ACME", amount: "120.00" } });
    const edit = (sets: Record<string, string>) => say("Ann", opened, id, "edited", agreed(openCard(opened, id), sets));
    await expect(edit({ to: "MALLORY", amount: "119.00" })).rejects.toMatchObject(
      refused("APPROVAL_EDIT", /is not what "Pay\?" was asked about/),
    );
    // Under another name there, and in other letters.
    const call = { tool: "bank_pay", params: { to: "ACME LTD", amount: "1.00", note: "Acme Ltd" } };
    expect(recordsIn([call], ['{"vendor":"Acme Ltd"}'])).toEqual(["calls.0.params.to"]);
    // Or in a record, as a number, or written in another way; who is in charge, and how, may change.
    const found = {
      iban: "DE89 3704 0044",
      vendor: 4711,
      manager_id: "E-7",
      access: "full",
      days: 30,
      due: "2024-11-08",
      no: "2024-11-08-001",
    };
    const stays = {
      payee_iban: "DE8937040044",
      payee: { name: "Acme  LTD" },
      pay_to: 4711,
      to: "2024-11-08-001",
      payees: ["4711"],
      creditor: "Acme Ltd",
      account_owner: "Acme Ltd",
    };
    const changes = {
      owner_id: "E-7",
      scope: "full",
      net_days: 30,
      amount: 30,
      memo: "Acme Ltd",
      account_manager: "E-7",
      carrier: "Acme Ltd",
    };
    const asked = recordsIn([{ tool: "bank_pay", params: { ...stays, ...changes } }], ['{"vendor":"Acme Ltd"}', JSON.stringify(found)]);
    expect(asked.map((path) => path.replace("calls.0.params.", ""))).toEqual([
      "payee_iban",
      "payee.name",
      "pay_to",
      "to",
      "payees.0",
      "creditor",
      "account_owner",
    ]);
    await edit({ amount: "119.00" });
    expect(await ended(opened, id)).toMatchObject({ outcome: "completed" });
    expect(one.bank()).toEqual(["ACME 119.00"]);
  });

  test("whom an agent without states has read is not exchanged either", async () => {
    const { one, opened } = await made(TEAM);
    one.commit({
      "agents/reads.ts": `/*\nname: Reads\ndescription: test\nuses: [approval, bank]\n*/
const to = bank_rate({ day: "7.00", failures: 0 }).rate;
for (const call of approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to, amount: "1.00" } }] }).calls) bank_pay(call.params);
1;
`,
    });
    const { id } = await begin(opened, "reads", {});
    const card = openCard(opened, id);
    await expect(say("Ann", opened, id, "edited", agreed(card, { to: "EVE" }))).rejects.toMatchObject({ code: "APPROVAL_EDIT" });
  });

  test("with a required level no amount may rise, and no other calls may be made", async () => {
    const { opened } = await made(TEAM);
    const { id } = await begin(opened, "asks");
    const card = openCard(opened, id);
    const edit = (calls: unknown) => say("Ann", opened, id, "edited", { calls: calls as Card["calls"] });
    // A payment that turns into a refund is another act, however small.
    for (const [amount, why] of [
      ["120.01", /rise from 120.00 to 120.01/],
      ["-120.00", /would turn from 120.00 into -120.00, .*the other direction/],
    ] as const)
      await expect(edit(agreed(card, { amount }).calls)).rejects.toMatchObject(refused("APPROVAL_EDIT", why));
    // Also a lower one, which whoever is told to start the run again would reject.
    for (const amount of ["9e3", "9'000.00", "9 000.00", "2,000.00", "", "max"]) {
      const plain = refused("USAGE", /amount.* in digits with at most one point, such as 2000\.00, not "/);
      expect(() => agreed(card, { amount }), amount).toThrow(expect.objectContaining(plain));
      await expect(edit([{ tool: "bank_pay", params: { ...(card.calls[0]?.params as object), amount } }])).rejects.toMatchObject(plain);
    }
    await expect(edit([...card.calls, ...card.calls])).rejects.toMatchObject({ code: "USAGE" });
    await expect(edit([{ tool: "bank_wire", params: card.calls[0]?.params }])).rejects.toMatchObject({ code: "USAGE" });
    for (const wrong of ["calls.0.tool", "calls.7.params.amount", "to.x", "calls.0.params.__proto__", "calls.0.params.to.x"])
      expect(() => agreed(card, { [wrong]: "1" }), wrong).toThrow(/cannot be set/);
    expect(() => agreed(card, { ammount: "1" })).toThrow(/Did you mean "amount"/);
    expect(agreed(card, { "calls.0.params.memo": "x" }).calls?.[0]?.params).toMatchObject({ memo: "x", amount: "120.00" });
  });

  test.each([
    ["asks", {}],
    ["simple", { params: { to: "ACME", amount: "120.00", lines: null } }],
  ])("a parameter that was not on the card is not added by an edit, unless it is a note: %s", async (agent, input) => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, agent, input);
    const card = openCard(opened, id);
    const edit = (calls: Card["calls"] | undefined) => say("Ann", opened, id, "edited", { calls: calls ?? [] });
    for (const name of ["payout", "currency", "iban", "severity", "approved_by"])
      await expect(edit(agreed(card, { [`calls.0.params.${name}`]: "5000" }).calls)).rejects.toMatchObject(
        refused("APPROVAL_EDIT", new RegExp(`^calls\\.0\\.params\\.${name} "5000" was not among what ".*" asked about`)),
      );
    for (const added of [
      { payee: { iban: "DE1" } },
      { payees: ["EVE"] },
      { urgent: true },
      { dry_run: null },
      { more: {} },
      { memo: 5 },
      { memo: ["x"] },
      { memo: "5000.00" },
    ])
      await expect(edit([{ tool: "bank_pay", params: { ...(card.calls[0]?.params as object), ...added } }])).rejects.toMatchObject({
        code: "APPROVAL_EDIT",
      });
    // What the card showed empty is filled in.
    await edit(agreed(card, { "calls.0.params.note": "as agreed", ...(agent === "simple" ? { lines: "1" } : {}) }).calls);
    await ended(opened, id);
    expect(one.bank()).toEqual(["ACME 120.00"]);
  });

  test("amounts of many rows that are equal by chance are changed one by one; beside two sides of one row, a few are named", () => {
    const edited = (calls: object[], sets: Record<string, string>) => agreed({ kind: "approval", calls } as unknown as Card, sets);
    const lines = Array.from({ length: 200 }, (_, i) => ({ employee_id: `E-${i}`, amount: "10.00" }));
    const path = "calls.0.params.lines.3.amount";
    expect(edited([{ tool: "erp/pay_all", params: { lines } }], { [path]: "9.00" })).toMatchObject({ decision: "edited" });
    const payments = lines.map((params) => ({ tool: "erp/pay", params }));
    expect(edited(payments, { "calls.7.params.amount": "9.00" })).toMatchObject({ decision: "edited" });
    // Of the two legs of an entry, and of the records of one payment, the other is named, and only that.
    const legs = lines.map(({ amount }, i) => ({ account: i % 2 === 0 ? "5010" : "1010", amount: i % 2 === 0 ? amount : `-${amount}` }));
    const noted = { tool: "erp/note", params: { rows: lines } };
    const beside = [{ tool: "erp/pay_all", params: { lines } }, noted];
    expect(() => edited(beside, { [path]: "9.00" })).toThrow(/would stay in calls\.1\.params\.rows\.3\.amount\. Change them too/);
    expect(() => edited([{ tool: "erp/post", params: { legs } }], { "calls.0.params.legs.0.amount": "9.00" })).toThrow(
      /legs\.9\.amount and 95 more/,
    );
  });

  test("one of several equal amounts is not changed without a warning about the others", () => {
    const call = (amount: string) => ({ tool: "bank_pay", params: { to: "A", amount, fee: "0.00", lines: [{ total: "120" }] } });
    const card = { kind: "approval", calls: [call("120.00"), call("7.00")] } as unknown as Card;
    expect(() => agreed(card, { "calls.0.params.amount": "50" })).toThrow(
      /same amount would stay in calls\.0\.params\.lines\.0\.total, calls\.1\.params\.lines\.0\.total/,
    );
    const all = { "calls.0.params.amount": "50", "calls.0.params.lines.0.total": "50", "calls.1.params.lines.0.total": "120" };
    expect(agreed(card, all)).toMatchObject({ decision: "edited" });
    expect(agreed(card, { "calls.1.params.amount": "6.00" })).toMatchObject({ decision: "edited" });
  });

  test("calls that belong together are approved unchanged, or not at all", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "simple", { params: { to: "A", amount: "1.00" }, level: "manager", fixed: true });
    const edited = agreed(openCard(opened, id), { amount: "0.50" });
    await expect(say("Ann", opened, id, "edited", edited)).rejects.toMatchObject(refused("USAGE", /depend on each other/));
    await say("Ann", opened, id);
    await ended(opened, id);
    expect(one.bank()).toEqual(["A 1.00"]);
  });

  test("a call that no gate of the script asked about is approved unchanged: the script cannot take other parameters back", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "pays");
    const edited = agreed(openCard(opened, id), { amount: "0.50" });
    await expect(say("Ann", opened, id, "edited", edited)).rejects.toMatchObject(refused("USAGE", /cannot take others back/));
    await say("Ann", opened, id);
    await ended(opened, id);
    expect(one.bank()).toEqual(["A 1.00"]);
  });

  test("of two required approvals, one for the old calls does not count for the edited ones, and each edit counts", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "asks", { kind: "two" });
    const before = openCard(opened, id);
    await say("Ann", opened, id, "edited", agreed(before, { amount: "60.00" }));
    const late = signedBy("Bob", opened, before, "approved");
    expect(await decideCard(opened, late)).toMatchObject({ still: "1 more person", card: { said: ["Ann"] } });
    expect(one.bank()).toEqual([]);
    // The last word of each counts, also when it was said before or takes back what another has changed.
    for (const [by, amount] of Object.entries({ Ann: "70.00", Bob: "120.00", "Ann ": "60.00" })) {
      await say(by.trim(), opened, id, "edited", agreed(openCard(opened, id), { amount }));
      expect(openCard(opened, id)).toMatchObject({ said: [by.trim()], edited: [{ params: { amount } }] });
    }
    await say("Bob", opened, id);
    expect(await ended(opened, id)).toMatchObject({ result: { decision: "edited", by: "Ann, Bob" } });
    expect(one.bank()).toEqual(["ACME 60.00"]);
  });

  test("a rejection with its reason reaches the script and is recorded with the run", async () => {
    const { opened } = await made(TEAM);
    const { id } = await begin(opened, "simple", { params: { to: "A", amount: "1.00" }, level: "manager" });
    await say("Ann", opened, id, "rejected", { reason: "twice the price" });
    expect(await ended(opened, id)).toMatchObject({ result: { reason: "twice the price" } });
    expect(await logs(opened, id)).toEqual(['Ann said no to "Pay?": twice the price']);
  });
});
