/** What answers for a person, within its limit, and what reminds one: profiles of trust.yaml, reminders, expiry. */
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { decideCard } from "../../runtime/app/decide.ts";
import { remind } from "../../runtime/app/timers.ts";
import { openAlerts } from "../../runtime/outside/notices/alerts.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { SIMPLE, TEAM, begin, ended, logs, made, type People, refused, say, signedBy, trustWith } from "./gates.ts";
import { copyOf, close, closeAll, host, openCard, removeAll } from "./harness.ts";

afterEach(closeAll);
afterAll(removeAll);

describe("profiles", () => {
  const AUTO =
    'approvals: {agents: {simple: {mode: auto, up_to: "100.00", currency: USD, fields: [cost_center, to]}, asks: {mode: auto, up_to: "10000.00", currency: USD, fields: [to, note]}}}\n';

  test.each([
    ["exactly the limit", { to: "A", amount: "100.00" }, "done"],
    ["the limit in another spelling", { to: "A", amount: "100" }, "done"],
    ["a cent over", { to: "A", amount: "100.01" }, "waiting"],
    ["far over", { to: "A", amount: "1000.00" }, "waiting"],
    ["a negative amount", { to: "A", amount: "-5.00" }, "waiting"],
    ["another currency", { to: "A", amount: "5.00", currency: "EUR" }, "waiting"],
    ["another currency by its short name", { to: "A", amount: "5.00", ccy: "EUR" }, "waiting"],
    ["an amount with words", { to: "A", amount: "USD 5.00" }, "waiting"],
    ["an amount nobody can read beside a small one", { to: "A", amount: "9e3", fee: "1.00" }, "waiting"],
    ["a figure under a name that says nothing", { to: "A", amount: "1.00", transfer: 5000 }, "waiting"],
    ["another currency by its value alone", { to: "A", amount: "5.00", unit: "KWD" }, "waiting"],
    ["a small amount for many months", { to: "A", amount: "5.00", months: 12 }, "waiting"],
    ["many of a small amount", { to: "A", amount: "5.00", quantity: 1000 }, "waiting"],
    ["another amount as text without a fraction", { to: "A", amount: "1.00", extra: "USD 9000" }, "waiting"],
    ["another amount with its currency behind it", { to: "A", amount: "1.00", betrag: "50000 EUR" }, "waiting"],
    ["another amount within a sentence", { to: "A", amount: "1.00", note: "and 9000 usd on top" }, "waiting"],
    ["another amount under the name of a reference", { to: "A", amount: "1.00", reference: "\u20ac9000" }, "waiting"],
    ["thousands of it", { to: "A", amount: "1.00", unit: "thousand" }, "waiting"],
    ["a number of payments", { to: "A", amount: "40.00", number_of_payments: 12 }, "waiting"],
    ["installments", { to: "A", amount: "40.00", installments: "3" }, "waiting"],
    ["a payment each month", { to: "A", amount: "40.00", recurrence: "monthly" }, "waiting"],
    ["several who are paid", { to: "A", amount: "40.00", to_list: ["a", "b", "c"] }, "waiting"],
    ["a payment each month by its value", { to: "A", amount: "40.00", schedule: "monthly" }, "waiting"],
    ["several who are paid, as records", { to: "A", amount: "40.00", payees: [{ id: "a" }, { id: "b" }] }, "waiting"],
    ["a currency in small letters", { to: "A", amount: "5.00", unit: "kwd" }, "waiting"],
    ["a currency by its sign", { to: "A", amount: "5.00", unit: "\u20ac" }, "waiting"],
    ["what is no currency of a state", { to: "A", amount: "5.00", asset: "BTC" }, "waiting"],
    ["no amount beside a fee", { to: "A", amount: "1.00", lines: [{ fee: "1.00", amount: null }] }, "waiting"],
    ["an empty one beside a fee", { to: "A", amount: "1.00", lines: [{ fee: "1.00", amount: {} }] }, "waiting"],
    ["a percentage", { to: "A", amount: "1.00", pct: 9000 }, "waiting"],
    ...[
      ...[{ unit: "BTC" }, { unit: "thousand USD" }, { unit: "Euro" }, { symbol: "ETH" }],
      ...[{ in: "bitcoin" }, { denom: "oz gold" }, { money: "crypto" }],
      ...[{ number: 10 }, { no: 10 }, { minutes: 600 }, { month: 12 }, { term: 12 }],
      ...[{ day: 12 }, { version: 10 }, { x: 10 }, { exponent: 3 }],
      ...[{ rrule: "FREQ=DAILY" }, { schedule: "0 0 * * *" }],
      ...[{ until: "2030-01-01" }, { start_date: "2026-01-01", end_date: "2030-01-01" }],
      ...[{ per: "item" }, { basis: "day" }, { mode: "per item" }, { type: "recurring" }],
      ...[{ type: "standing order" }, { frequency: 1 }, { payment_number: 12 }],
      ...[{ payees: { a: true, b: true } }, { payee: { "0": { name: "a" }, "1": { name: "b" } } }, { "0": "a" }, { deep: { note: "a" } }],
      ...[{ all: true }, { close_account: true }, { add_tip: "100%" }],
      ...[{ amounts_in: "thousands" }, { amount_thousands: "5" }, { monthly_fee: "5" }],
      ...[{ type: "P1M" }, { reference: "P1M" }, { type: "cron 0 0 1 * *" }, { method: "monatlich" }, { category: "12 Raten" }],
      ...[{ installments_per_step: 12 }, { payments_per_line: "12" }, { priority: 2 }, { open_position: 500 }, { employee: "*" }],
      ...[{ department: "every employee" }, { payee: "all" }, { payee: "Eve & Bob" }, { payee: "Eve\uff0cBob" }, { note: "rent of May" }],
      ...[{ invoice_id: "INV-1..INV-9" }, { from_date: "2026-01-01", to_date: "2030-01-01" }, { reference: "12" }, { method: "wire" }],
      ...[{ account: "1000.00" }, { amount_type: "9000.00" }, { due_date: "5000" }, { status: "5000" }, { "": "a" }, { "note.x": "a" }],
      ...[{ discount: "10.00" }, { tax: "1.00" }, { fee_amount: "5.00" }, { deposit: "1.00", rebate: "1.00" }].map((one) => ({
        amount: undefined,
        ...one,
      })),
      ...[{ original_amount: "1.00" }, { order_total: "1.00" }, { price: "1.00" }, { amount: "", total: "1.00" }].map((one) => ({
        amount: undefined,
        ...one,
      })),
      ...[
        { amount: "0" },
        { amount: "0.00", tip: "1.00" },
        { amount: " " },
        { payment: "1.00" },
        { invoice_id: "" },
        { invoice_id: null },
        { vendor: { id: "V-888" } },
      ],
      ...[{ lines: [{ vendor_id: "V1", amount: "1.00" }] }, { payments: [{ invoice_id: "I-1" }] }],
    ].map((more): [string, object, string] => [JSON.stringify(more), { to: "A", amount: "1.00", ...more }, "waiting"]),
    ["what is listed as harmless, by another name", { to: "A", amount: "1.00", center: "OPS" }, "waiting"],
    ["what is listed as harmless", { to: "A", amount: "1.00", cost_center: "4100" }, "done"],
    ["ids and days", { to: "K", amount: "1.00", currency: "USD", invoice_id: "INV-2024-447", pay_date: "2026-11-30" }, "done"],
    ["a record's names", { to: "A", amount: "1.00", invoice_id: "INV-1", pay_date: "2026-11-30", approved_by: "@approver" }, "done"],
  ] as [string, object, string][])("auto: %s", async (_name, params, status) => {
    const { one, opened } = await made(TEAM, AUTO);
    const run = await begin(opened, "simple", { params: params as Json });
    expect([run.error?.message, run.status]).toEqual([undefined, status]);
    if (status === "done") {
      expect(run).toMatchObject({ result: { by: "profile:auto" }, meta: { approvals: [{ by: "profile:auto" }] } });
      expect(one.git("log", "--format=%B", "-1")).toContain("Approved-by: profile:auto");
      expect(await logs(opened, run.id)).toEqual(['profile:auto of trust.yaml approved "Pay?"']);
    }
  });

  test("the log says which parameter is for a person", async () => {
    const { opened } = await made(TEAM, AUTO);
    const { id } = await begin(opened, "simple", { params: { to: "A", amount: "1.00", more: { unit: "hours" } } });
    expect(await logs(opened, id)).toEqual([
      'The approval profile does not cover "Pay?": calls.0.params.more could multiply the amount or change what it is; a person is asked.',
    ]);
    const other = await begin(opened, "simple", { params: { to: "A", amount: "1.00", number: 10 } });
    expect(await logs(opened, other.id)).toEqual([
      'The approval profile does not cover "Pay?": calls.0.params.number could multiply the amount or change what it is; a person is asked.',
    ]);
  });

  test("the limit covers all amounts of a gate, of a run and of a day together, and a gate asked again counts once", async () => {
    const { one, opened } = await made(TEAM, AUTO);
    const ten = { params: { to: "A", amount: "10.00" } };
    const split = { params: { to: "A", amount: "40.00", fee: "60.01" } };
    expect((await begin(opened, "simple", split)).status).toBe("waiting");
    for (let i = 0; i < 10; i++) expect([i, (await begin(opened, "simple", ten)).status]).toEqual([i, "done"]);
    const over = await begin(opened, "simple", ten);
    expect(over.status).toBe("waiting");
    expect(await logs(opened, over.id)).toContainEqual(expect.stringContaining("all amounts together; a person is asked"));
    expect(one.bank()).toHaveLength(10);
    // Another agent has a limit of its own, and another day begins anew.
    expect((await begin(opened, "asks")).status).toBe("done");
    await close(opened);
    // A lost store begins no new day, and neither does another path, or a lost state folder, after which somebody confirms anew.
    for (const gone of [...["", "-wal", "-shm"].map((end) => `.cleared/store.db${end}`), ".cleared/id"]) {
      rmSync(join(one.dir, gone), { force: true });
      const lost = await host(one);
      expect((await begin(lost, "simple", ten)).status).toBe("waiting");
      await close(lost);
    }
    const moved = await host(copyOf(one));
    expect((await begin(moved, "simple", ten)).status).toBe("waiting");
    const next = await host(one, { clock: { now: () => Date.now() + 86_400_000 } });
    expect((await begin(next, "simple", ten)).status).toBe("done");
  });

  test("auto never answers an escalation, a gate for two people or another person, or a run with rules of its own", async () => {
    const { one, opened } = await made(TEAM, AUTO);
    for (const kind of ["two", "other"]) expect((await begin(opened, "asks", { kind })).status).toBe("waiting");
    expect(await begin(opened, "asks", { kind: "odd" })).toMatchObject({ status: "waiting", reason: "escalation" });
    const cause = { kind: "command" as const, key: "given" };
    const { id } = await opened.start("asks", { cause, input: {}, given: { policy: "Ask the boss first." } });
    expect((await opened.engine.result(id, { timeoutMs: 9000 })).status).toBe("waiting");
    const exec = { kind: "exec" as const, key: "x", detail: { file: "simple.ts", text: SIMPLE, lint: true } };
    const other = await opened.start("simple", { cause: exec, input: { params: { to: "A", amount: "1.00" } } });
    expect((await opened.engine.result(other.id, { timeoutMs: 9000 })).status).toBe("waiting");
    expect(one.bank()).toEqual([]);
    expect((await begin(opened, "asks")).status).toBe("done");
    expect(one.bank()).toEqual(["ACME 120.00"]);
  });

  test("an outside approval system: only an explicit approval of exactly these calls counts, anything else waits for a person", async () => {
    const asked: { action_hash: string; amount: string }[] = [];
    const server = createServer((request, response) => {
      if (request.method === "GET")
        return void response.end(
          JSON.stringify([
            { name: "sign_off", input_schema: { type: "object", properties: { action_hash: {}, calls: {} }, additionalProperties: false } },
          ]),
        );
      let text = "";
      request.on("data", (part) => (text += part));
      request.on("end", () => {
        const { action_hash, calls } = JSON.parse(text).params as { action_hash: string; calls: { params: { amount: string } }[] };
        const amount = calls[0]?.params.amount ?? "";
        asked.push({ action_hash, amount });
        const answers: Record<string, Json> = {
          "1.00": { approved: true, action_hash },
          "2.00": { approved: true, action_hash: "0".repeat(64) },
          "3.00": { approved: "true", action_hash },
          "4.00": "approved",
          "5.00": { approved: false, action_hash },
        };
        response.statusCode = amount === "6.00" ? 500 : 200;
        response.end(JSON.stringify(answers[amount] ?? null));
      });
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;
    const tool = 'approvals: {default: {mode: "tool:boss/sign_off", up_to: "10.00", currency: USD, fields: [to]}}\n';
    const { one, opened } = await made(TEAM, tool);
    await close(opened);
    one.write(
      "trust.yaml",
      one
        .read("trust.yaml")
        .replace(/^mcp: \{\}.*$/m, `mcp: {boss: {plain: "http://127.0.0.1:${port}", tools: {sign_off: {class: mutate}}}}`),
    );
    const again = await host(one);
    try {
      for (const amount of ["1.00", "2.00", "3.00", "4.00", "5.00", "6.00", "10.01"]) {
        const run = await begin(again, "simple", { params: { to: "A", amount } });
        expect([amount, run.status]).toEqual([amount, amount === "1.00" ? "done" : "waiting"]);
        if (amount === "1.00") expect(run.result).toMatchObject({ by: "profile:tool:boss/sign_off" });
      }
      expect(new Set(asked.map((call) => call.amount))).not.toContain("10.01");
      expect(one.bank()).toEqual(["A 1.00"]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test("a profile with an unknown word, or named like a person, is refused at load", async () => {
    const { one, opened } = await made(TEAM);
    await close(opened);
    for (const [text, words] of [
      ["approvals: {agents: {simple: {mode: automatic, up_to: '1', currency: USD}}}\n", /write auto, or tool:SERVER/],
      ["approvals: {agents: {simple: {mode: auto, currency: USD}}}\n", /up_to/],
      ["approvals: {default: nobody}\n", /person/],
    ] as const) {
      trustWith(one, TEAM, text);
      await expect(host(one)).rejects.toMatchObject(refused("CONFIG_INVALID", words));
    }
    trustWith(one, { "profile:auto": {} });
    await expect(host(one)).rejects.toMatchObject(refused("CONFIG_INVALID", /choose another name/));
  });
});

describe("reminders", () => {
  test("once per person and interval, to those who may decide and have not; without mail every command shows it", async () => {
    let now = Date.UTC(2026, 10, 20, 9);
    const clock = { now: () => now };
    const people: People = {
      Ann: { roles: ["manager"], email: "ann@example.com" },
      Bob: { roles: ["director"], email: "bob@example.com" },
      Zoe: { email: "zoe@example.com" },
    };
    const { one, opened } = await made(people, "notices: {smtp: {host: 127.0.0.1, port: 9, from: books@example.com}}\n", { clock });
    const { id } = await begin(opened, "asks", { kind: "two" });
    const card = openCard(opened, id);
    const keysNow = () => opened.database.all<{ key: string }>("SELECT key FROM notices ORDER BY key").map((row) => row.key);
    await remind(opened);
    expect(keysNow()).toEqual([]);
    now += 86_400_000;
    await remind(opened);
    await remind(opened);
    expect(keysNow()).toEqual([`card/${card.id}/remind/1/Ann`, `card/${card.id}/remind/1/Bob`]);
    await say("Ann", opened, id);
    now += 86_400_000 - 1;
    await remind(opened);
    now += 1;
    await remind(opened);
    expect(keysNow().slice(2)).toEqual([`card/${card.id}/remind/2/Bob`]);
    await close(opened);
    trustWith(one, TEAM);
    const again = await host(one, { clock });
    const other = await begin(again, "asks");
    const waiting = () => openAlerts(again.database, now).filter((one) => one.startsWith("Card"));
    expect(waiting()).toEqual([]);
    now += 86_400_000;
    await remind(again);
    expect(waiting()).toContainEqual(
      expect.stringMatching(new RegExp(`^Card ${openCard(again, other.id).id} waits for a person since 2026-11-22 09:00 UTC: Pay ACME`)),
    );
  });

  test("without an answer in time the run ends as expired, and a late answer is told so", async () => {
    let now = Date.UTC(2026, 10, 20, 9);
    const { opened } = await made(TEAM, "", { clock: { now: () => now } });
    const { id } = await begin(opened, "asks");
    const card = openCard(opened, id);
    now += 3 * 86_400_000;
    // Signed as if in time: the owner's clock decides.
    await expect(decideCard(opened, signedBy("Ann", opened, card, "approved", { at: now - 1 }))).rejects.toMatchObject({
      code: "CARD_CLOSED",
    });
    expect(await ended(opened, id)).toMatchObject({ status: "done", outcome: "expired" });
  });
});
