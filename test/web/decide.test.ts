/** Deciding on the page of a real workspace: edits, forms, and browsers that are paired with a person's key. */
import { createHash, generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { createFacts } from "../../runtime/app/facts.ts";
import { seenOf } from "../../runtime/app/card-facts.ts";
import type { Host } from "../../runtime/app/host.ts";
import { setFact } from "../../runtime/engine/store/facts.ts";
import { newPairing } from "../../runtime/app/sessions.ts";
import { type Listening, listen } from "../../runtime/outside/http.ts";
import { createStatusApp } from "../../runtime/web/app.ts";
import { close, closeAll, host, openCard, removeAll, run, workspace, type Workspace } from "../engine/harness.ts";

const ASK = `/*
name: Ask
description: test
uses: [approval]
input: {several: {type: boolean, default: false}}
*/
const told = approval_form({ title: "How much?", fields: { amount: { type: "money", required: true }, urgent: { type: "boolean" } } });
const answer = approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to: "ACME", amount: "120.00", lines: [{ n: 2 }] } }] });
({ told: told.values, calls: answer.calls, by: answer.by });
`;

const GRANT = `/*
name: Grant
description: test
uses: [fsm, policy]
states: [ASSESS, POLICY_CHECK, APPROVAL_GATE, MUTATE]
*/
fsm_enter("ASSESS");
fsm_enter("POLICY_CHECK");
policy_evaluate({ facts: { amount: "120.00" } });
fsm_enter("APPROVAL_GATE");
1;
`;
const PACK = `process: grant
source: template
facts: { amount: money, fine: boolean }
rules:
  - { id: OVER, when: "amount > 100", action: escalate, level: manager, description: more than the limit }
  - { id: NOT_FINE, when: "!fine", action: require_approval, level: manager, description: not fine }
`;

let one: Workspace;
let opened: Host;
let site: Listening;
let clock = 0;

async function serve(): Promise<void> {
  opened = await host(one, { clock: { now: () => Date.now() + clock } });
  site = await listen(createStatusApp(createFacts(opened, createApi(opened)), opened.clock), 0);
}

beforeEach(async () => {
  clock = 0;
  one = await workspace({ "agents/ask.ts": ASK });
  await serve();
});
afterEach(async () => {
  await site.close();
  await closeAll();
});
afterAll(removeAll);

const page = async (path = "/"): Promise<string> => (await fetch(`${site.url}${path}`)).text();
const value = (text: string, name: string): string =>
  new RegExp(`name="${name.replaceAll(".", "\\.")}" value="([^"]*)"`).exec(text)?.[1] ?? "";
async function post(
  path: string,
  fields: Record<string, string>,
  cookie?: string,
): Promise<{ status: number; cookie: string; text: string }> {
  const body = new URLSearchParams({ token: value(await page(), "token") || value(await page("/pair"), "token"), ...fields });
  const headers = { origin: site.url, ...(cookie === undefined ? {} : { cookie: `other=1; cleared=${cookie}` }) };
  const answer = await fetch(`${site.url}${path}`, { method: "POST", redirect: "manual", body, headers });
  return { status: answer.status, cookie: answer.headers.get("set-cookie") ?? "", text: await answer.text() };
}
const result = async (id: string) => (await opened.engine.result(id, { ended: true, timeoutMs: 9000 })).result;

/** Bob joins; his key lies in a file of his own. */
async function bobJoins(): Promise<string> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const file = join(one.dir, "bob.key");
  writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  const key = publicKey.export({ type: "spki", format: "der" }).toString("base64");
  one.write(
    "trust.yaml",
    one.read("trust.yaml").replace(/^people:\n/m, () => `people:\n  - {name: Bob, key: ${key}}\n`),
  );
  await site.close();
  await close(opened);
  await serve();
  return file;
}
function codeOf(file: string): { code: string; name: string } {
  process.env["CLEARED_KEY"] = file;
  try {
    const { code, name, pairing } = newPairing(one.dir, opened.trust, opened.clock.now());
    void createApi(opened).pair({ name, pairing });
    return { code, name };
  } finally {
    delete process.env["CLEARED_KEY"];
  }
}

test("a form is filled in and a call is edited on the page; the run continues with both", async () => {
  const { id } = await run(opened, "ask");
  const form = openCard(opened, id);
  expect(await page()).toMatch(/name="set\.amount" type="text" inputmode="decimal"[^>]*required/);
  expect((await post(`/cards/${form.id}`, { decision: "approved", "set.amount": "12,5" })).text).toContain("is not an amount");
  expect((await post(`/cards/${form.id}`, { decision: "approved", "set.amount": "12.50", "set.urgent": "true" })).status).toBe(303);
  await opened.engine.result(id, { timeoutMs: 9000 });
  const card = openCard(opened, id);
  const shown = await page();
  expect(value(shown, "set.calls.0.params.amount")).toBe("120.00");
  const as = (more: Record<string, string>) => ({
    ...{ decision: "approved", seen: value(shown, "seen"), "set.calls.0.params.to": "ACME" },
    ...{ "set.calls.0.params.amount": "120.00", "set.calls.0.params.lines.0.n": "2", ...more },
  });
  expect((await post(`/cards/${card.id}`, as({ "set.calls.0.params.lines.0.n": "two" }))).text).toContain("enter another number");
  const { text } = await post(`/cards/${card.id}`, as({ "set.calls.0.params.to": "EVE", seen: "another" }));
  expect([text.includes("has changed since this page was loaded"), value(text, "set.calls.0.params.to")]).toEqual([true, "ACME"]);
  expect((await post(`/cards/${card.id}`, as({ "set.calls.0.params.amount": "50.00" }))).status).toBe(303);
  expect(await result(id)).toEqual({
    told: { amount: "12.50", urgent: true },
    calls: [{ tool: "bank_pay", params: { to: "ACME", amount: "50.00", lines: [{ n: 2 }] } }],
    by: "Pat",
  });
});

test("an unchanged form is a plain approval", async () => {
  const { id } = await run(opened, "gate");
  const card = openCard(opened, id);
  expect((await post(`/cards/${card.id}`, { decision: "approved" })).status).toBe(303);
  expect(opened.cards.get(card.id)?.decision).toMatchObject({ decision: "approved", by: "Pat", self: true });
});

test("with two people nobody decides before the browser is paired, then as the person whose key made the code, until it is revoked", async () => {
  const bob = await bobJoins();
  const { id } = await run(opened, "gate");
  const card = openCard(opened, id);
  expect(await page()).toContain("This browser cannot decide yet");
  expect((await post(`/cards/${card.id}`, { decision: "approved" })).text).toContain("APPROVAL_IDENTITY");
  const { code } = codeOf(bob);
  const paired = await post("/pair", { code: `${code.slice(0, 4)}-${code.slice(4).toUpperCase()}` });
  expect([paired.status, paired.cookie]).toEqual([
    303,
    expect.stringMatching(/^cleared=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=2592000$/),
  ]);
  // Used once, and never again.
  expect((await post("/pair", { code })).text).toContain("was used");
  const cookie = /cleared=([\w-]+)/.exec(paired.cookie)?.[1] ?? "";
  expect((await post(`/cards/${card.id}`, { decision: "approved" }, "x".repeat(43))).text).toContain("APPROVAL_IDENTITY");
  expect((await post(`/cards/${card.id}`, { decision: "approved" }, cookie)).status).toBe(303);
  expect(await opened.engine.result(id, { ended: true, timeoutMs: 9000 })).toMatchObject({ outcome: "completed", result: { by: "Bob" } });
  const next = openCard(opened, (await run(opened, "gate")).id);
  expect(await createApi(opened).unpair({ by: "Bob" })).toBe(1);
  expect((await post(`/cards/${next.id}`, { decision: "approved" }, cookie)).text).toContain("APPROVAL_IDENTITY");
  expect(opened.cards.get(next.id)?.decision).toBeNull();
});

test("a code is valid for ten minutes, a pairing for thirty days, and stored pairings cannot decide anything", async () => {
  const bob = await bobJoins();
  const old = codeOf(bob);
  clock += 600_001;
  expect((await post("/pair", { code: old.code })).text).toContain("older than 10 minutes");
  const { code } = codeOf(bob);
  const cookie = /cleared=([\w-]+)/.exec((await post("/pair", { code })).cookie)?.[1] ?? "";
  const kept = opened.database.all<{ name: string; value: string }>("SELECT * FROM facts WHERE name LIKE 'session:%'");
  expect(kept).toHaveLength(1);
  expect(JSON.stringify(kept)).not.toContain(cookie);
  expect(JSON.stringify(kept)).not.toContain("PRIVATE KEY");
  const card = openCard(opened, (await run(opened, "gate")).id);
  clock += 30 * 86_400_000;
  expect((await post(`/cards/${card.id}`, { decision: "approved" }, cookie)).text).toContain("APPROVAL_IDENTITY");
});

test("a row of the store pairs no browser: neither one that nobody signed, nor another browser's under a new cookie", async () => {
  const { code } = codeOf(await bobJoins());
  const cookie = /cleared=([\w-]+)/.exec((await post("/pair", { code })).cookie)?.[1] ?? "";
  const [kept] = opened.database.all<{ value: string }>("SELECT value FROM facts WHERE name LIKE 'session:%'");
  const stolen = "s".repeat(43);
  const name = `session:${createHash("sha256").update(`name ${stolen}`).digest("hex").slice(0, 32)}`;
  const isTold = async (secret: string) =>
    !(await (await fetch(site.url, { headers: { cookie: `cleared=${secret}` } })).text()).includes("This browser cannot decide yet");
  await run(opened, "gate");
  for (const value of [kept?.value, JSON.stringify({ ...JSON.parse(kept?.value ?? ""), signature: "AAAA" })]) {
    opened.database.write(() => setFact(opened.database, name, value ?? ""));
    expect([await isTold(cookie), await isTold(stolen)]).toEqual([true, false]);
  }
});

test("an escalation by the policy is shown with one line per rule that applied", async () => {
  await close(opened);
  one = await workspace({ "agents/grant.ts": GRANT, "policies/grant.yaml": PACK });
  await site.close();
  await serve();
  expect(await run(opened, "grant", {})).toMatchObject({ status: "waiting", reason: "escalation" });
  const text = (await page()).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  expect(text).toMatch(/Escalation 1 .*escalated \(manager\) .*OVER more than the limit: amount 120.00 &gt; 100 .*NOT.FINE not fine/i);
  expect(text.split(" Brief ")[0]).not.toMatch(/hash|triggered/i);
});

test("a proposal is on the start page and on its own, with its text; an outdated page decides nothing, an approval makes the commit", async () => {
  await close(opened);
  one = await workspace({ "agents/ask.ts": "/*\nname: Asks <b>much</b>\nuses: []\n*/\n1;\n" });
  await site.close();
  await serve();
  one.write("agents/ask.ts", one.read("agents/ask.ts").replace("uses: []", "uses: [ctx]").replace("1;", 'ctx_log("<script>");\n1;'));
  const { proposal } = await createApi(opened).propose({ title: "Say more", reason: "It says <i>little</i>.", paths: [], by: "Pat" });
  const text = await page();
  expect(text).toContain(`<a href="/proposals/${proposal.number}">Everything about it</a>`);
  const own = await page(`/proposals/${proposal.number}`);
  expect(
    own
      .replace(/<[^>]*>/g, "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replace(/\s+/g, " "),
  ).toMatch(/! capability: Asks <b>much<\/b>: may use ctx, which it could not before \(agents\/ask\.ts:3\)/);
  expect(own).toContain("+ctx_log(&quot;&lt;script&gt;&quot;);");
  expect(own).not.toMatch(/<script|<i>|<b>/);
  const fields = { decision: "approved", seen: value(own, "seen") };
  expect((await post(`/cards/${proposal.number}`, { ...fields, seen: "another" })).text).toContain("Refresh the page");
  expect((await post(`/cards/${proposal.number}`, fields)).status).toBe(303);
  expect(one.git("log", "-1", "--format=%B")).toMatch(/Say more[\s\S]*Proposal: prop_[\s\S]*Approved-by: Pat/);
  expect((await post(`/cards/${proposal.number}`, fields)).status).not.toBe(303);
  expect(await page("/proposals")).toMatch(/applied<\/span> <span class="name"><bdi>Say more/);
  expect(await page(`/proposals/${proposal.number}`)).not.toContain("<form");
});

test("nothing to be approved is hidden: long texts, long lists, rows with many fields and long diff lines are complete", async () => {
  const params = {
    note: `${"long ".repeat(900)}END-OF-NOTE`,
    slips: Array.from({ length: 130 }, (_, i) => ({ to: `PAYEE-${i}`, amount: "1.00" })),
    rows: Array.from({ length: 12 }, (_, i) => ({ [`field_${i}`]: `VALUE-${i}` })),
    deep: { a: { b: { c: { d: { e: { f: "x".repeat(2500), g: "END-OF-DEPTH" } } } } } },
    ...Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`key_${i}`, `KEYED-${i}.`])),
  };
  one.write(
    "agents/long.ts",
    `/*\nname: Long\ndescription: test\nuses: [approval]\n*/\napproval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: ${JSON.stringify(params)} }] });\n`,
  );
  one.git("add", "agents/long.ts");
  one.git("commit", "-qm", "agents: long");
  await run(opened, "long");
  const shown = await page();
  const all = [
    /END-OF-NOTE/,
    /END-OF-DEPTH/,
    ...params.slips.map(({ to }) => new RegExp(`${to}<`)),
    ...params.rows.map((_, i) => new RegExp(`VALUE-${i}<`)),
    /KEYED-59\./,
  ];
  expect(all.filter((one) => !one.test(shown))).toEqual([]);
  one.write("agents/ask.ts", `${ASK}// ${"wide ".repeat(900)}END-OF-LINE\n`);
  const { proposal } = await createApi(opened).propose({ title: "A long line", reason: "", paths: ["agents/ask.ts"] });
  expect(await page(`/proposals/${proposal.number}`)).toContain("END-OF-LINE");
});

test("of two equal amounts, one is changed on the page only with the other, or with a tick that it stays", async () => {
  one.write(
    "agents/both.ts",
    `/*\nname: Both\ndescription: test\nuses: [approval]\n*/\nconst amount = "5400.00";\napproval_wait({ title: "Pay?", calls: [{ tool: "bank_note", params: { to: "A", approved_amount: amount } }, { tool: "bank_pay", params: { to: "A", amount } }] });\n`,
  );
  one.git("add", "agents/both.ts");
  one.git("commit", "-qm", "agents: both");
  const decideAs = async (first: string, second: string, more: object = {}) => {
    const card = openCard(opened, (await run(opened, "both")).id);
    expect(await page()).toContain('name="keep"');
    const amounts = { seen: seenOf(card), "set.calls.0.params.approved_amount": first, "set.calls.1.params.amount": second };
    const { status, text } = await post(`/cards/${card.id}`, { decision: "approved", ...amounts, ...more });
    // Refused, the form is shown again as it was filled in.
    if (status === 400) expect(value(text, "set.calls.0.params.approved_amount")).toBe(first);
    return [status, text.includes("the same amount would stay in calls.1.params.amount"), opened.cards.get(card.id)?.decision?.decision];
  };
  expect(await decideAs("5000.00", "5400.00")).toEqual([400, true, undefined]);
  expect(await decideAs("5000.00", "5400.00", { keep: "yes" })).toEqual([303, false, "edited"]);
  expect(await decideAs("5000.00", "5000.00")).toEqual([303, false, "edited"]);
  expect(await decideAs("5400.00", "5400.00")).toEqual([303, false, "approved"]);
});

test("a card with much data costs the page no more than its text, and is complete", async () => {
  one.write(
    "agents/long.ts",
    `/*\nname: Long\ndescription: test\nuses: [approval]\n*/\nconst many = Array.from({ length: 60000 }, (_, i) => i);\napproval_wait({ title: "Pay?", calls: [], details: { many, few: many.slice(0, 400) } });\n`,
  );
  one.git("add", "agents/long.ts");
  one.git("commit", "-qm", "agents: long");
  await run(opened, "long");
  const shown = await page();
  expect(shown).toContain("59998,59999");
  // A list in a list of its last rows, thousands deep, took 4 GB for 300,000 values.
  expect(shown.split('<details class="rest">').length).toBeLessThan(10);
});
