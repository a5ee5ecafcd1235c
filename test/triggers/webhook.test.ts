/** The webhook door over HTTP: only what is signed, now and once, starts a run. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Database } from "../../runtime/engine/store/database.ts";
import { beginPause, endPauses } from "../../runtime/engine/store/pauses.ts";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { type Listening, listen } from "../../runtime/outside/http.ts";
import { signBody } from "../../runtime/outside/notices/webhook.ts";
import type { Cause, Json } from "../../runtime/kernel/ports.ts";
import { parseHeader } from "../../runtime/scripts/header.ts";
import { acceptHook } from "../../runtime/outside/triggers/webhook.ts";
import { createStatusApp } from "../../runtime/web/app.ts";
import type { Facts } from "../../runtime/app/facts.ts";

const NOW = Date.parse("2026-11-20T12:00:00Z");
const header = (more: string) => parseHeader(`/*\nname: T\ntrigger: webhook\nwebhook: shop\n${more}*/\n1;`, "agents/t.ts");

let site: Listening;
let database: Database;
let now = NOW;
let agents: { name: string; header: ReturnType<typeof header> | null }[] = [];
const started = new Map<string, { agent: string; cause: Cause; input: Json }>();

beforeEach(async () => {
  now = NOW;
  started.clear();
  database = new Database(":memory:");
  agents = [{ name: "order", header: header("") }];
  const ports = {
    database,
    now: () => now,
    agents: async () => agents.map((one) => ({ ...one, blob: "" })),
    secret: async (name: string) => (name === "shop" ? "s3cret" : null),
    start: async (agent: string, { cause, input }: { cause: Cause; input: Json }) => {
      if ((input as { bad?: true }).bad) throw new ClearedError("RUN_INPUT", "bad is not wanted.");
      const id = `${agent} ${cause.key}`;
      const created = !started.has(id);
      if (created) started.set(id, { agent, cause, input });
      return { id, created };
    },
  };
  site = await listen(
    createStatusApp({} as Facts, { now: () => now }, (request) => acceptHook(ports, request)),
    0,
  );
});
afterEach(async () => {
  await site.close();
  database.close();
});

const post = async (body: string, headers: Record<string, string> = {}, name = "shop") => {
  const answer = await fetch(`${site.url}/hooks/${name}`, { method: "POST", body, headers });
  return {
    status: answer.status,
    body: (await answer.json().catch(() => null)) as { run?: string; created?: boolean; error?: { code: string } },
  };
};
const signed = (body: string, more: Record<string, string> = {}, at = now, secret = "s3cret") => ({
  "x-cleared-signature": signBody(body, secret, at),
  ...more,
});

test("a signed request starts the listening agent, with the body as its payload", async () => {
  const body = '{"order": 7, "total": "12.50"}';
  expect(await post(body, signed(body))).toMatchObject({
    status: 202,
    body: { run: expect.stringMatching(/^order shop /), created: true },
  });
  expect([...started.values()]).toMatchObject([
    { agent: "order", cause: { kind: "webhook" }, input: { payload: { order: 7, total: "12.50" } } },
  ]);
});

test("an agent with named fields gets them, and one that refuses the input answers 400", async () => {
  agents = [{ name: "order", header: header("input: {order: {type: integer}, bad: {type: boolean}}\n") }];
  expect((await post('{"order":7}', signed('{"order":7}'))).status).toBe(202);
  expect([...started.values()][0]?.input).toEqual({ order: 7 });
  expect(await post('{"bad":true}', signed('{"bad":true}'))).toMatchObject({ status: 400, body: { error: { code: "RUN_INPUT" } } });
  expect((await post("{", signed("{"))).status).toBe(400);
});

// what it is, headers
test.each<[string, (body: string) => Record<string, string>]>([
  ["no signature", () => ({})],
  ["another secret", (body) => signed(body, {}, now, "other")],
  ["another body", () => signed("{}")],
  ["six minutes old", (body) => signed(body, {}, NOW - 360_000)],
  ["six minutes ahead", (body) => signed(body, {}, NOW + 360_000)],
  ["no version", (body) => ({ "x-cleared-signature": signBody(body, "s3cret", NOW).replace(",v1=", ",v0=") })],
  ["half a signature", (body) => ({ "x-cleared-signature": signBody(body, "s3cret", NOW).slice(0, -2) })],
  ["two signatures", (body) => ({ "x-cleared-signature": `${signBody(body, "x", NOW)},${signBody(body, "s3cret", NOW)}` })],
])("%s is refused and starts nothing", async (_, headers) => {
  const body = '{"order":7}';
  expect(await post(body, headers(body))).toMatchObject({ status: 401, body: { error: { code: "WEBHOOK_REFUSED" } } });
  expect(started.size).toBe(0);
});

test("an unknown name is answered like a wrong signature", async () => {
  const [unknown, wrong] = [await post("{}", signed("{}"), "nobody"), await post("{}", signed("{}", {}, now, "other"))];
  expect(unknown).toEqual(wrong);
});

test("a captured request starts nothing a second time, under any key", async () => {
  const headers = signed("{}", { "idempotency-key": "order-7" });
  expect(await post("{}", headers)).toMatchObject({ status: 202, body: { created: true } });
  expect(await post("{}", headers)).toMatchObject({ status: 202, body: { created: false } });
  expect(await post("{}", { ...headers, "idempotency-key": "order-8" })).toMatchObject({ status: 401 });
  expect(await post("{}", { "x-cleared-signature": headers["x-cleared-signature"] ?? "" })).toMatchObject({ status: 401 });
  now += 290_000;
  expect(await post("{}", { ...headers, "idempotency-key": "order-9" })).toMatchObject({ status: 401 });
  expect(started.size).toBe(1);
});

test("the sender's own repeat, signed again under its key, is recognized", async () => {
  await post("{}", signed("{}", { "idempotency-key": "order-7" }));
  now += 60_000;
  expect(await post("{}", signed("{}", { "idempotency-key": "order-7" }))).toMatchObject({ status: 202, body: { created: false } });
});

test("a body of more than 1 MiB is refused, one of a few hundred kB is not", async () => {
  const fits = JSON.stringify("x".repeat(300_000));
  expect((await post(fits, signed(fits))).status).toBe(202);
  const large = JSON.stringify("x".repeat(1024 * 1024));
  expect((await post(large, signed(large))).status).toBe(413);
});

test("a signature gives access to hooks only, not to forms of the page", async () => {
  const answer = await fetch(`${site.url}/cards/1`, { method: "POST", body: "decision=approved", headers: signed("decision=approved") });
  expect(answer.status).toBe(403);
});

test("while one of its listeners is paused nothing starts, and the same request is accepted afterwards", async () => {
  agents = [...agents, { name: "stock", header: header("") }];
  beginPause(database, { agent: "stock", by: "Pat", reason: "", at: now });
  const request = signed('{"order": 7}');
  expect(await post('{"order": 7}', request)).toMatchObject({ status: 403, body: { error: { code: "RUN_PAUSED" } } });
  expect(started.size).toBe(0);
  endPauses(database, "stock", "Pat", now);
  expect((await post('{"order": 7}', request)).status).toBeLessThan(300);
  expect([...started.values()].map((run) => run.agent).sort()).toEqual(["order", "stock"]);
});
