/**
 * Whether a write did what it should (spec/worker.md 14; property 9 of section 35).
 * Size: one store and one helper, and every status that a write can have.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Json, VerifiedWrite } from "../../runtime/kernel/ports.ts";
import { happened, type VerifyDeclaration, verifiedWrite, verifySpec } from "../../runtime/rules/tools/verify.ts";
import { tool } from "./reference.ts";

const PAY: VerifyDeclaration = {
  read: "get_invoice",
  key: { invoice_id: "invoice_id" },
  expect: { status: "paid", amount: "$amount" },
  before: { status: "approved" },
};
const listed = [tool("get_invoice"), tool("get_order"), tool("pay_invoice"), tool("get_ticket")];

type Store = Record<string, Json>;

/** One write against a store of records by id; `act` is what the tool does to it. */
async function write(
  name: string,
  params: Store,
  store: Store,
  act: () => Json,
  declared?: VerifyDeclaration,
  earlier: VerifiedWrite[] = [],
  inDoubt = false,
  seen?: Json,
) {
  const calls: string[] = [];
  const result = await verifiedWrite({
    earlier,
    inDoubt,
    seen: seen === undefined ? undefined : () => seen,
    call: { tool: `s/${name}`, params },
    spec: verifySpec(tool(name), declared, listed),
    read: async (call) => {
      calls.push(call.tool);
      const id = Object.values(call.params as Store)[0];
      const found = structuredClone(store[String(id)]);
      if (found === undefined) throw new ClearedError("TOOL_FAILED", "record not found");
      return found;
    },
    write: async () => {
      calls.push(`s/${name}`);
      return act();
    },
  });
  return { ...result, calls };
}

describe("a declared spec", () => {
  const invoice = (): Store => ({ I1: { invoice_id: "I1", status: "approved", amount: "0.00", vendor: "ACME" } });
  const params = { invoice_id: "I1", amount: "1200" };

  it("is VERIFIED if the record has the expected fields; amounts by value", async () => {
    const store = invoice();
    const { write: seen, calls } = await write(
      "pay_invoice",
      params,
      store,
      () => {
        store["I1"] = { ...(store["I1"] as Store), status: "paid", amount: 1200.0 };
        return { ok: true };
      },
      PAY,
    );
    expect(seen).toMatchObject({
      status: "VERIFIED",
      read: { tool: "s/get_invoice", params: { invoice_id: "I1" } },
      expected: { status: "paid", amount: "1200" },
      before: { status: "approved" },
      after: { status: "paid" },
      diff: {},
    });
    expect(calls).toEqual(["s/get_invoice", "s/pay_invoice", "s/get_invoice"]);
  });

  it("is unknown, and not sent again, where an earlier attempt may have happened and the record has moved since the run saw it", async () => {
    const store: Store = { I1: { ...(invoice()["I1"] as Store), status: "disputed" } };
    let sent = 0;
    const again = write("pay_invoice", params, store, () => ({ ok: ++sent }), PAY, [], true, invoice()["I1"]);
    await expect(again).rejects.toMatchObject({ code: "TOOL_LOST", message: expect.stringMatching(/not sent again: .*disputed/) });
    expect(sent).toBe(0);
  });

  it("is MISMATCH with each differing field, if nothing or something else happened", async () => {
    const { write: seen } = await write("pay_invoice", params, invoice(), () => ({ ok: true }), PAY);
    expect(seen).toMatchObject({
      status: "MISMATCH",
      diff: { status: { expected: "paid", actual: "approved" }, amount: { expected: "1200", actual: "0.00" } },
    });
  });

  it("is MISMATCH for another record and for none", async () => {
    const other = { I1: { invoice_id: "I2", status: "paid", amount: "1200" } };
    const { write: seen } = await write("pay_invoice", params, other, () => ({ ok: true }), PAY);
    expect(seen).toMatchObject({ status: "MISMATCH", diff: { invoice_id: { expected: "I1", actual: "I2" } } });
    const { write: none } = await write("pay_invoice", params, {}, () => ({ ok: true }), PAY);
    expect(none.status).toBe("MISMATCH");
  });

  it.each<[string, () => Json]>([
    ["an error in the answer", () => ({ error: "forbidden" })],
    ["success: false", () => ({ success: false, message: "no" })],
    [
      "a thrown TOOL_FAILED",
      () => {
        throw new ClearedError("TOOL_FAILED", "forbidden");
      },
    ],
  ])("is WRITE_FAILED on %s, if the record is as before", async (_, act) => {
    const { write: seen, calls } = await write("pay_invoice", params, invoice(), act, PAY);
    expect(seen).toMatchObject({ status: "WRITE_FAILED", diff: {} });
    expect(calls.filter((name) => name === "s/pay_invoice")).toHaveLength(1);
  });

  const answering = (store: Store, record: Json, error = "timeout upstream"): Json => {
    store["I1"] = record;
    return { error };
  };

  it("is VERIFIED if the record has become what was requested, whatever the tool answered", async () => {
    const store = invoice();
    const act = () => answering(store, { invoice_id: "I1", status: "paid", amount: "1200" });
    const { answer, write: seen } = await write("pay_invoice", params, store, act, PAY);
    expect(seen).toMatchObject({ status: "VERIFIED", answer: expect.stringContaining("timeout upstream") });
    expect(answer).toEqual({ read_back: true, tool: "s/pay_invoice" });
  });

  it("is WRITE_FAILED with the record's contents, if the record has changed in another way", async () => {
    const store = invoice();
    const act = () => answering(store, { invoice_id: "I1", status: "pending", amount: "1200" }, "no");
    const { write: seen } = await write("pay_invoice", params, store, act, PAY);
    expect(seen).toMatchObject({ status: "WRITE_FAILED", diff: { status: { expected: "paid", actual: "pending" } } });
  });

  it("sends nothing if the record shows this write already", async () => {
    const store = { I1: { invoice_id: "I1", status: "paid", amount: "1200.00" } };
    const { write: seen, calls } = await write("pay_invoice", params, store, () => ({ ok: true }), PAY);
    expect(seen).toMatchObject({ status: "VERIFIED", answer: expect.stringContaining("nothing was sent") });
    expect(calls).toEqual(["s/get_invoice"]);
    // Another amount is another write, and so is one of which nobody declared how its record looks before.
    const other = await write("pay_invoice", { invoice_id: "I1", amount: "7" }, store, () => ({ ok: true }), PAY);
    expect(other.calls).toContain("s/pay_invoice");
    const { before: _, ...undeclared } = PAY;
    expect((await write("pay_invoice", params, store, () => ({ ok: true }), undeclared)).calls).toContain("s/pay_invoice");
  });

  it("adds no second record beside one with another amount, unless the run has added both", async () => {
    const store = { I1: { invoice_id: "I1", status: "paid", amount: "12000.00" } };
    const adds = { ...PAY, before: { found: false } };
    const { write: seen, calls } = await write("pay_invoice", params, store, () => ({ ok: true }), adds);
    expect(seen).toMatchObject({ status: "WRITE_FAILED", answer: expect.stringContaining("shows amount 12000.00, not 1200 already") });
    expect(calls).toEqual(["s/get_invoice"]);
    const lines = (amount: string) => ({ invoice_id: "I1", lines: [{ account: "8000", debit: amount }] });
    const posted = { I1: { ...lines("874.73"), status: "paid" } };
    const entry = await write("pay_invoice", lines("713.37"), posted, () => ({ ok: true }), { ...adds, expect: { status: "paid" } });
    expect(entry.write.answer).toContain("shows lines 874.73, not 713.37 already");
    const before = [{ ...seen, params: { invoice_id: "I1", amount: "12000.00" } }];
    expect((await write("pay_invoice", params, store, () => ({ ok: true }), adds, before)).calls).toContain("s/pay_invoice");
  });

  it.each<[string, VerifyDeclaration, Store, () => Json]>([
    ["the record cannot be read", { ...PAY, read: "get_ticket" }, { I1: { error: "locked" } }, () => ({ error: "timeout" })],
    ["speaks of a missing answer", PAY, { I1: { status: "approved", amount: "0.00" } }, () => ({ error: "upstream timed out" })],
    ["nobody reads it back", { read: "get_nothing" }, {}, () => ({ error: "timeout" })],
    ["the record showed it before", { ...PAY, before: undefined }, { I1: { status: "paid", amount: "1200" } }, () => ({ error: "no" })],
    ["the record has nothing to compare", { read: "get_invoice" }, { I1: { vendor: "ACME" } }, () => ({ error: "no" })],
  ])("is lost and not failed if a tool answers with an error and %s", async (_, declared, store, act) => {
    await expect(write("pay_invoice", params, store, act, declared)).rejects.toMatchObject({ code: "TOOL_LOST" });
  });

  it("takes a proven refusal for the whole answer, but not if an earlier attempt may have happened", async () => {
    const act = () => {
      throw new ClearedError("TOOL_FAILED", "duplicate key", { data: { refused: true } });
    };
    const { write: seen } = await write("send_mail", {}, {}, act);
    expect(seen.status).toBe("WRITE_FAILED");
    await expect(write("send_mail", {}, {}, act, undefined, [], true)).rejects.toMatchObject({ code: "TOOL_LOST" });
  });

  it("identifies a tool that sets fields by the differences, and accepts any of several states", async () => {
    const spec = { ...PAY, before: "different" } as const;
    const store = { I1: { invoice_id: "I1", status: "paid", amount: "1200.00" } };
    expect((await write("pay_invoice", params, store, () => ({ ok: true }), spec)).calls).toEqual(["s/get_invoice"]);
    const known = verifySpec(tool("pay_invoice"), spec, listed);
    const either = verifySpec(tool("pay_invoice"), { ...PAY, before: { status: ["approved", "scheduled"] } }, listed);
    const call = { tool: "s/pay_invoice", params };
    expect(await happened(call, known, async () => ({ status: "scheduled", amount: "0" }))).toBe(false);
    expect(await happened(call, either, async () => ({ status: "scheduled", amount: "0" }))).toBe(false);
    expect(await happened(call, either, async () => ({ status: "held", amount: "0" }))).toBe(null);
  });

  it("ignores a parameter that the declaration ignores", async () => {
    const store = invoice();
    const declared = { ...PAY, ignore: ["vendor"] };
    const { write: seen } = await write(
      "pay_invoice",
      { ...params, vendor: "other" },
      store,
      () => {
        store["I1"] = { ...(store["I1"] as Store), status: "paid", amount: "1200.00" };
        return null;
      },
      declared,
    );
    expect(seen.status).toBe("VERIFIED");
  });

  it("passes on an error after which it is unknown whether the write happened", async () => {
    const lost = write(
      "pay_invoice",
      params,
      invoice(),
      () => {
        throw new ClearedError("TOOL_LOST", "the server died");
      },
      PAY,
    );
    await expect(lost).rejects.toMatchObject({ code: "TOOL_LOST" });
  });

  it("takes the key of a new record from the answer", async () => {
    const store: Store = {};
    const act = (): Json => {
      store["O9"] = { id: "O9", total: "12.50" };
      return { order: { order_id: "O9" } };
    };
    const declared = { read: "get_order", key: { order_id: "order_id" }, expect: { total: "$total" } };
    const { write: seen } = await write("place_order", { total: 12.5 }, store, act, declared);
    expect(seen).toMatchObject({ status: "VERIFIED", read: { params: { order_id: "O9" } }, before: null });
  });
});

describe("without a spec", () => {
  it("reads back by the seed's pairs or get_<noun>, only with listed reading tools", () => {
    expect(verifySpec(tool("modify_order_items"), undefined, listed)?.read).toBe("s/get_order");
    expect(verifySpec(tool("closeTicket"), undefined, listed)?.read).toBe("s/get_ticket");
    expect(verifySpec(tool("update_vendor"), undefined, listed)).toBeNull();
    expect(verifySpec(tool("update_invoice"), undefined, [{ ...tool("get_invoice"), class: "mutate" }])).toBeNull();
    expect(verifySpec(tool("update_invoice"), undefined, [{ ...tool("get_invoice"), server: "other" }])).toBeNull();
  });

  it("expects an update's own parameters, where the record has them", async () => {
    const open = { O1: { id: "O1", status: "open" } };
    const params = { order_id: "O1", status: "shipped", note: "fragile" };
    const { write: same } = await write("update_order", params, open, () => ({ ok: true }));
    expect(same).toMatchObject({ status: "MISMATCH", diff: { status: { expected: "shipped", actual: "open" } } });
    const store: Store = structuredClone(open);
    const { write: seen } = await write("update_order", params, store, () => {
      store["O1"] = { id: "O1", status: "shipped" };
      return null;
    });
    expect(seen.status).toBe("VERIFIED");
  });

  it.each([
    ["cancelled", "VERIFIED"],
    ["CANCELED_BY_CUSTOMER", "VERIFIED"],
    ["not_cancelled", "MISMATCH"],
    ["open", "MISMATCH"],
  ])("expects a cancellation to give a status that says so: %s is %s", async (status, expected) => {
    const store: Store = { O1: { data: { order_id: "O1", status: "open" } } };
    const { write: seen } = await write("cancel_order", { order_id: "O1" }, store, () => {
      store["O1"] = { data: { order_id: "O1", status } };
      return { ok: true };
    });
    expect(seen.status).toBe(expected);
  });

  it("expects a deleted record to be gone", async () => {
    const store: Store = { O1: { id: "O1", status: "open" } };
    const kept = await write("delete_order", { order_id: "O1" }, store, () => ({ ok: true }));
    expect(kept.write.status).toBe("MISMATCH");
    const gone = await write("delete_order", { order_id: "O1" }, store, () => {
      delete store["O1"];
      return { ok: true };
    });
    expect(gone.write.status).toBe("VERIFIED");
  });

  it.each<[string, Store, Store, string]>([
    ["add_charge", { amount: "50.00" }, { amount: 50 }, "VERIFIED"],
    ["add_charge", { amount: "50.00" }, { amount: "500.00" }, "MISMATCH"],
    ["expedite_order", { vendorId: "V-1" }, { vendor_id: "V-2" }, "MISMATCH"],
    ["expedite_order", { note: "fragile" }, {}, "UNVERIFIABLE"],
    ["approve_order", { amount: "50.00" }, { status: "approved" }, "UNVERIFIABLE"],
    ["approve_order", { lines: [{ sku: "A", price: "50.00" }] }, { status: "approved" }, "UNVERIFIABLE"],
    ["approve_order", { lines: [{ sku: "A" }] }, { status: "approved" }, "VERIFIED"],
    ["approve_order", {}, { status: "approved" }, "VERIFIED"],
    ["approve_order", {}, { found: false }, "MISMATCH"],
    ["expedite_order", {}, { found: false }, "MISMATCH"],
  ])("compares the request with the record, whatever the verb: %s %j and %j is %s", async (name, asked, after, expected) => {
    const store: Store = { O1: { id: "O1" } };
    const { write: seen } = await write(
      name,
      { order_id: "O1", ...asked },
      store,
      () => {
        store["O1"] = { id: "O1", ...after };
        return { ok: true };
      },
      { read: "get_order" },
    );
    expect(seen.status).toBe(expected);
  });

  it("is UNVERIFIABLE if nothing can be compared, whatever else has changed", async () => {
    const store: Store = { O1: { id: "O1", lines: 1 } };
    const done = await write("expedite_order", { order_id: "O1" }, store, () => {
      store["O1"] = { id: "O1", lines: 2 };
      return { ok: true };
    });
    expect(done.write.status).toBe("UNVERIFIABLE");
    expect((await write("send_mail", { text: "hi" }, {}, () => ({ ok: true }))).write).toMatchObject({
      status: "UNVERIFIABLE",
      read: null,
    });
  });
});

it("never verifies a write that did not set the fields it had to set", async () => {
  const value = fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constantFrom("open", "paid", "5"), fc.boolean());
  const fields = fc.dictionary(fc.constantFrom("status", "amount", "owner"), value, { minKeys: 1 });
  await fc.assert(
    fc.asyncProperty(fields, fields, fields, async (before, wanted, after) => {
      const store: Store = { O1: { order_id: "O1", ...before } };
      const declared = { read: "get_order", key: { order_id: "order_id" }, expect: wanted };
      const { write: seen } = await write(
        "change_order",
        { order_id: "O1" },
        store,
        () => {
          store["O1"] = { order_id: "O1", ...after };
          return { ok: true };
        },
        declared,
      );
      const same = Object.entries(wanted).every(([name, one]) => Object.hasOwn(after, name) && String(after[name]) === String(one));
      if (seen.status === "VERIFIED") expect(same).toBe(true);
      else expect(seen.status).toBe("MISMATCH");
    }),
  );
});

it("stores only the compared part of a huge record", async () => {
  const store: Store = { I1: { invoice_id: "I1", status: "paid", amount: "1", blob: "x".repeat(100_000) } };
  const { write: seen } = await write("pay_invoice", { invoice_id: "I1", amount: "1" }, store, () => "y".repeat(9_000), PAY);
  expect(seen.status).toBe("VERIFIED");
  expect(JSON.stringify(seen).length).toBeLessThan(1_000);
});

it.each<[string, Json, boolean | null]>([
  ["every expected field", { invoice_id: "I1", status: "paid", amount: "5.00" }, true],
  ["every field from before", { invoice_id: "I1", status: "approved", amount: "0" }, false],
  ["something in between", { invoice_id: "I1", status: "processing", amount: "5" }, null],
  ["another id", { invoice_id: "I2", status: "paid", amount: "5" }, null],
  ["no record", { error: "not found" }, null],
])("after a crash, a record with %s", async (_, record, expected) => {
  const spec = verifySpec(tool("pay_invoice"), PAY, listed);
  const call = { tool: "s/pay_invoice", params: { invoice_id: "I1", amount: "5" } };
  expect(await happened(call, spec, async () => record)).toBe(expected);
});
