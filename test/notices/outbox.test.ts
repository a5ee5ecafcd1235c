/** The outbox against a real mail sink and a real receiver: each key is told once across kills, and what cannot be told is an alert. */
import { randomUUID } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { createCards } from "../../runtime/engine/store/cards.ts";
import { Database } from "../../runtime/engine/store/database.ts";
import { openAlerts } from "../../runtime/outside/notices/alerts.ts";
import type { NoticeRow } from "../../runtime/engine/store/notices.ts";
import { createOutbox } from "../../runtime/outside/notices/outbox.ts";
import { MOST_TRIES, createSender, waitAfter } from "../../runtime/outside/notices/sender.ts";
import { checkSignature } from "../../runtime/outside/notices/webhook.ts";
import type { Decision, Notice } from "../../runtime/kernel/ports.ts";
import { type NoticeChannels, parseConfig } from "../../runtime/workspace/settings/config.ts";
import { closeReceivers, hookReceiver, mailSink } from "./receivers.ts";

const NOON = Date.parse("2026-11-20T17:00:00Z");
const CONFIG = 'business: {name: Acme}\ntimezone: America/New_York\nnotify: {quiet_hours: {from: "20:00", to: "08:00"}, default: smtp}\n';
const databases: Database[] = [];

afterEach(async () => {
  await closeReceivers();
  for (const one of databases.splice(0)) one.close();
});

function setup(channels: Partial<NoticeChannels>, config = CONFIG) {
  const database = new Database(":memory:");
  databases.push(database);
  const all: NoticeChannels = { webhooks: {}, ...channels };
  const clock = { at: NOON, now: () => clock.at };
  const [notes, sent]: [string[], Set<string>] = [[], new Set()];
  const sender = (secret = async (name: string) => `value of ${name}`) =>
    createSender({
      ...{ database, clock, channels: all },
      sent: { has: (one) => sent.has(one), keep: (one) => void sent.add(one) },
      asked: async (notice) => notice,
      isAnswer: () => true,
      ...{ secret, page: "http://127.0.0.1:4310" },
      note: (message) => void notes.push(message),
    });
  const outbox = createOutbox(database, all, parseConfig(config));
  return {
    database,
    clock,
    notes,
    sender,
    cards: createCards(database),
    send: (notice: Partial<Notice> = {}, live = true) =>
      outbox.send(
        { key: "ar:INV-7", to: "ann@example.com", subject: "Overdue: INV-7", text: "30 days.", run: "run_1", agent: "ar", ...notice },
        { now: clock.at, live },
      ),
    rows: () => database.all<NoticeRow>("SELECT * FROM notices ORDER BY rowid"),
    alerts: () => openAlerts(database, clock.at),
    decide(decision: Decision["decision"]) {
      const [card] = createCards(database).list({ open: true });
      createCards(database).decide(card?.id ?? 0, { card: card?.id ?? 0, decision, by: "Pat", at: clock.at, signature: randomUUID() });
    },
  };
}

const smtp = (port: number, more: object = {}) => ({ smtp: { host: "127.0.0.1", port, from: "books@acme.example", ...more } });
const ops = (url: string) => ({ webhooks: { ops: { url, secret: "secret:ops_hook" } } });
const refusal = (responseCode: number) => Object.assign(new Error("not now"), { responseCode });

test("a mail arrives once per key, complete, with an id of its own and a link that only opens a page", async () => {
  const sink = await mailSink({ user: "books", password: "value of mail" });
  const { send, sender, rows } = setup(smtp(sink.port, { user: "books", password: "secret:mail" }));
  const first = await send({ subject: "Überfällig: INV-7", text: "30 Tage.\n.\nGruß" });
  expect(first).toEqual({ notice: expect.stringMatching(/^notice_[0-9a-f]{24}$/), channel: "smtp", state: "queued", due: NOON });
  expect(await send({ text: "something else" })).toEqual(first);
  await sender().deliver();
  await sender().deliver();
  expect(sink.mails).toHaveLength(1);
  expect(sink.mails[0]).toMatchObject({ from: "books@acme.example", to: ["ann@example.com"] });
  const { text = "" } = sink.mails[0] ?? {};
  expect(text).toContain("Subject: =?UTF-8?");
  expect(text).toMatch(/Message-ID: <[0-9a-f]{32}@acme\.example>/i);
  expect(text).toContain("http://127.0.0.1:4310/runs/run_1");
  expect(rows()).toMatchObject([{ state: "sent", attempts: 1 }]);
  expect(await send()).toMatchObject({ state: "sent" });
});

test("a webhook is signed, and a kill between the request and its record repeats it under the same key", async () => {
  const receiver = await hookReceiver();
  const { send, sender, database, clock } = setup(ops(receiver.url));
  await send({ channel: "ops" });
  await sender().deliver();
  // As if the process had ended before it could write down that it was sent.
  database.run("UPDATE notices SET state = 'queued', attempts = 0");
  await sender().deliver();
  expect(receiver.requests).toHaveLength(2);
  expect(receiver.told()).toHaveLength(1);
  const [request] = receiver.requests;
  expect(
    checkSignature(String(request?.headers["x-cleared-signature"]), request?.body ?? "", "value of ops_hook", clock.at),
  ).not.toBeNull();
  expect(JSON.parse(request?.body ?? "")).toMatchObject({
    to: "ann@example.com",
    subject: "Overdue: INV-7",
    text: "30 days.",
    agent: "ar",
  });
});

test("a mail in flight when the process was killed is asked about, never sent again automatically", async () => {
  const sink = await mailSink();
  const { send, sender, database, rows, decide, alerts, notes, clock } = setup(smtp(sink.port));
  await send();
  await sender().deliver();
  database.run("UPDATE notices SET state = 'sending', attempts = 0");
  const next = sender();
  clock.at += 86_400_000;
  await next.deliver();
  expect(sink.mails).toHaveLength(1);
  expect(rows()).toMatchObject([{ state: "doubt" }]);
  expect(alerts()).toEqual([expect.stringMatching(/^Card 1: Was this mail sent\? "Overdue: INV-7" to ann@example\.com\./)]);
  expect(notes).toHaveLength(1);
  decide("approved");
  await next.deliver();
  expect(rows()).toMatchObject([{ state: "sent" }]);
  expect(alerts()).toEqual([]);
  expect(sink.mails).toHaveLength(1);
});

test("a server that accepts the mail and drops the connection leaves a question; a rejection sends it again", async () => {
  let answer: "drop" | null = "drop";
  const sink = await mailSink({ answer: () => answer });
  const { send, sender, rows, decide } = setup(smtp(sink.port));
  await send();
  const one = sender();
  await one.deliver();
  expect(rows()).toMatchObject([{ state: "doubt" }]);
  answer = null;
  decide("rejected");
  await one.deliver();
  expect(rows()).toMatchObject([{ state: "sent" }]);
  expect(sink.mails).toHaveLength(2);
});

test("the store records that a mail may have been sent before its first byte goes out", async () => {
  let seen: unknown;
  const sink = await mailSink({ held: async () => void (seen = rows()[0]?.state) });
  const { send, sender, rows } = setup(smtp(sink.port));
  await send();
  await sender().deliver();
  expect(seen).toBe("sending");
  expect(rows()).toMatchObject([{ state: "sent" }]);
});

test("a dead mail server is tried at growing intervals, then becomes an alert, and nothing is lost", async () => {
  const gone = await mailSink();
  await gone.close();
  const { send, sender, rows, clock, alerts, decide, cards } = setup(smtp(gone.port));
  await send();
  const one = sender();
  for (let failures = 1; failures < MOST_TRIES; failures++) {
    await one.deliver();
    expect(rows()).toMatchObject([{ state: "queued", attempts: failures, due_at: clock.at + waitAfter(failures) }]);
    await one.deliver();
    expect(rows()).toMatchObject([{ attempts: failures }]);
    expect(alerts()).toEqual([]);
    clock.at += waitAfter(failures);
  }
  await one.deliver();
  expect(rows()).toMatchObject([{ state: "dead", attempts: MOST_TRIES }]);
  expect(alerts()).toEqual([
    expect.stringMatching(/^Card 1: Not delivered: "Overdue: INV-7" to ann@example\.com \(smtp\): .*ECONNREFUSED/),
  ]);
  // The server is back, and a person says: again.
  const back = await mailSink({ port: gone.port });
  decide("approved");
  await one.deliver();
  expect(rows()).toMatchObject([{ state: "sent" }]);
  expect(back.mails).toHaveLength(1);
  expect([alerts(), cards.list({ open: true })]).toEqual([[], []]);
});

test("a notice given up twice asks twice, and one that a person drops is not sent", async () => {
  const sink = await mailSink({ answer: () => refusal(550) });
  const { send, sender, rows, alerts, decide } = setup(smtp(sink.port));
  await send();
  const one = sender();
  await one.deliver();
  expect(rows()).toMatchObject([{ state: "dead", attempts: 1 }]);
  decide("approved");
  await one.deliver();
  expect(rows()).toMatchObject([{ state: "dead" }]);
  expect(alerts()).toHaveLength(1);
  decide("rejected");
  await one.deliver();
  expect([rows()[0]?.state, alerts()]).toEqual(["dropped", []]);
});

test("a server's temporary error is not permanent, and a mail refused after its text was certainly not sent", async () => {
  let answer: Error | null = refusal(451);
  const sink = await mailSink({ answer: () => answer });
  const { send, sender, rows, clock } = setup(smtp(sink.port));
  await send();
  const one = sender();
  await one.deliver();
  expect(rows()).toMatchObject([{ state: "queued", attempts: 1, last_error: expect.stringContaining("not now") }]);
  answer = null;
  clock.at += waitAfter(1);
  await one.deliver();
  expect(rows()).toMatchObject([{ state: "sent" }]);
  expect(sink.mails).toHaveLength(1);
});

// status of the receiver, state after one try
test.each([
  [503, "queued"],
  [429, "queued"],
  [302, "dead"],
  [401, "dead"],
])("a webhook that answers %i leaves the notice %s", async (status, state) => {
  const receiver = await hookReceiver({ status: () => status });
  const { send, sender, rows } = setup(ops(receiver.url));
  await send({ channel: "ops" });
  await sender().deliver();
  expect(rows()).toMatchObject([{ state, attempts: 1, last_error: `it answered ${status}` }]);
});

test("a password echoed by a mail server is shown to nobody", async () => {
  const sink = await mailSink({ user: "books", password: "another" });
  const { send, sender, rows } = setup(smtp(sink.port, { user: "books", password: "secret:mail" }));
  await send();
  await sender().deliver();
  expect(rows()).toMatchObject([{ last_error: expect.stringMatching(/\[secret:password\] is wrong/) }]);
});

test("a missing secret and a removed channel lose nothing", async () => {
  const receiver = await hookReceiver();
  const { send, sender, rows } = setup(ops(receiver.url));
  await send({ channel: "ops" });
  await sender(() => Promise.reject(new Error("no secret ops_hook"))).deliver();
  expect(rows()).toMatchObject([{ state: "queued", last_error: "no secret ops_hook" }]);
  expect(receiver.requests).toEqual([]);
});

test("a channel that does not answer does not delay another", async () => {
  const gone = await mailSink();
  await gone.close();
  const receiver = await hookReceiver();
  const { send, sender, rows } = setup({ ...smtp(gone.port), ...ops(receiver.url) });
  for (const key of ["a", "b", "c"]) await send({ key });
  await send({ key: "d", channel: "ops" });
  await sender().deliver();
  expect(receiver.requests).toHaveLength(1);
  expect(rows().map((row) => row.attempts)).toEqual([1, 0, 0, 1]);
});

test("quiet hours hold back what is not urgent; the page disturbs nobody", async () => {
  const sink = await mailSink();
  const { send, sender, clock, cards } = setup(smtp(sink.port));
  clock.at = Date.parse("2026-11-01T02:30:00Z");
  const eight = Date.parse("2026-11-01T13:00:00Z");
  expect(await send({ key: "later" })).toMatchObject({ due: eight });
  expect(await send({ key: "now", urgent: true })).toMatchObject({ due: clock.at });
  expect(await send({ key: "page", channel: "page" })).toMatchObject({ state: "sent", due: clock.at });
  expect(cards.list({ open: true })).toMatchObject([{ kind: "note", title: "Overdue: INV-7", run: "run_1" }]);
  const one = sender();
  clock.at = eight - 1;
  await one.deliver();
  expect(sink.mails).toHaveLength(1);
  clock.at = eight;
  await one.deliver();
  expect(sink.mails).toHaveLength(2);
});

test("without a channel it is a card on the page, once per key; a dry run stores nothing", async () => {
  const { send, cards, rows } = setup({}, "business: {name: Acme}\n");
  expect(await send({}, false)).toMatchObject({ channel: "page", state: "sent" });
  expect([rows(), cards.list()]).toEqual([[], []]);
  await send();
  await send();
  expect(cards.list()).toHaveLength(1);
});

test("a card number and a key never reach the outbox", async () => {
  const { send, rows, cards } = setup({}, "business: {name: Acme}\n");
  await send({ subject: "Card 4111 1111 1111 1111", text: "SSN 123-45-6789" });
  const kept = JSON.stringify([rows(), cards.list()]);
  expect(kept).not.toMatch(/4111 1111|123-45-6789/);
  expect(kept).toContain("[SSN:6789]");
});

test("an unknown channel and an invalid address are refused before anything is stored", async () => {
  const { send, rows } = setup({ ...smtp(25), ...ops("http://127.0.0.1:1/") });
  await expect(send({ channel: "opps" })).rejects.toMatchObject({ code: "NOTICE_CHANNEL", message: expect.stringContaining('"ops"') });
  await expect(send({ to: "Ann" })).rejects.toMatchObject({ code: "NOTICE_ADDRESS" });
  await expect(send({ to: "a@b.c, d@e.f" })).rejects.toMatchObject({ code: "NOTICE_ADDRESS" });
  expect(rows()).toEqual([]);
});

test("a notice that is not sent because nobody owns the workspace is reported", async () => {
  const { send, alerts, clock } = setup(smtp(25));
  await send();
  expect(alerts()).toEqual([]);
  clock.at += 3_600_000;
  expect(alerts()).toEqual(["A notice waits to be sent: `cleared start` sends what is due."]);
});
