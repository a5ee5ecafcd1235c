/** Who may decide, what a yes covers, and what answers for a person: on real runs, with real keys, against what lies in the store. */
import { generateKeyPairSync } from "node:crypto";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { type Decided, agreed, asked, decideCard } from "../../runtime/cli/decide.ts";
import { remind } from "../../runtime/cli/reminders.ts";
import type { Host } from "../../runtime/cli/host.ts";
import { signDecision } from "../../runtime/engine/signature.ts";
import { openAlerts } from "../../runtime/notices/alerts.ts";
import type { Card, Decision, Json, RunRecord } from "../../runtime/ports.ts";
import { abandon, close, closeAll, host, openCard, removeAll, workspace, type Workspace } from "./harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const POLICY = `process: pay
source: test
facts: {amount: money, kind: text}
thresholds: {manager: "100.00"}
rules:
  - {id: BIG, when: "amount > threshold.manager", action: require_approval, level: manager, description: a test}
  - {id: LAW, when: "kind == law", action: require_approval, level: legal, description: a test}
  - {id: ODD, when: "kind == odd", action: escalate, description: a test}
  - {id: TWO, when: "kind == two", action: require_approval, level: manager, approvals: 2, description: a test}
  - {id: OTHER, when: "kind == other", action: require_approval, level: manager, distinct_from_requester: true, description: a test}
`;
const AGENT = `/*
name: Test
description: test
uses: [fsm, policy, approval, bank, ctx]
states: [ASSESS, POLICY_CHECK, APPROVAL_GATE, MUTATE]
input: {kind: {type: string, default: plain}, amount: {type: money, default: "120.00"}}
*/
fsm_enter("ASSESS");
const rate = bank_rate({ day: input.amount, failures: 0 }).rate;
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "pay", facts: { amount: input.amount, kind: input.kind } });
fsm_enter("APPROVAL_GATE");
const answer = approval_wait({ title: "Pay ACME?", calls: [{ tool: "bank_pay", params: { to: "ACME", amount: rate, note: "first" } }], expires: "3d", remind: "1d" });
fsm_enter("MUTATE");
for (const call of answer.calls) bank_pay(call.params);
({ by: answer.by, decision: answer.decision, calls: answer.calls });
`;
const SIMPLE = `/*
name: Simple
description: test
uses: [approval, bank]
input: {params: {type: object}, level: {type: string}}
*/
const question = { title: "Pay?", calls: [{ tool: "bank_pay", params: input.params }] };
const answer = approval_wait(input.level ? { ...question, level: input.level } : question);
for (const call of answer.calls) bank_pay(call.params);
({ by: answer.by, calls: answer.calls, reason: answer.reason ?? null });
`;
const FORM = `/*
name: Form
description: test
uses: [fsm, policy, approval, bank]
states: [ASSESS, POLICY_CHECK, APPROVAL_GATE, MUTATE]
*/
fsm_enter("ASSESS");
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "pay", facts: { amount: "1.00", kind: "plain" } });
fsm_enter("APPROVAL_GATE");
const told = approval_form({ title: "What did the taxi cost?", fields: { amount: { type: "money", required: true }, days: { type: "integer" }, kind: { type: "string", enum: ["taxi", "train"] } } });
const pay = { to: "TAXI", amount: told.values.amount };
approval_wait({ title: "Pay it?", calls: [{ tool: "bank_pay", params: pay }] });
fsm_enter("MUTATE");
bank_pay(pay);
({ told });
`;
const BANK = `import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { definePrimitive, z } from "cleared";
const FILE = join(import.meta.dirname, "../.cleared/bank.jsonl");
export const bank_pay = definePrimitive({ name: "bank_pay", effect: "external", access: "external", summary: "Pay.", idempotent: "key",
  params: z.object({ to: z.string(), amount: z.string(), note: z.string().optional(), currency: z.string().optional(), quantity: z.number().optional() }),
  returns: z.object({ ref: z.string() }), errors: [], example: 'bank_pay({ to: "A", amount: "1" })', dryRun: () => ({ ref: "dry" }),
  run: (p, ctx) => {
    const there = existsSync(FILE) && readFileSync(FILE, "utf8").includes(ctx.key + '"');
    if (!there) appendFileSync(FILE, JSON.stringify({ what: p.to + " " + p.amount, key: ctx.key }) + "\\n");
    return { ref: ctx.key };
  } });
// The figure that is read in ASSESS: what it is asked for.
export const bank_rate = definePrimitive({ name: "bank_rate", effect: "read", access: "read", summary: "Rate.", params: z.object({ day: z.string(), failures: z.int() }), returns: z.object({ rate: z.string() }), errors: [], example: 'bank_rate({ day: "1", failures: 0 })', run: (p) => ({ rate: p.day }) });
`;

const pairs = new Map<string, { pem: string; key: string }>();
function keysOf(name: string): { pem: string; key: string } {
  let found = pairs.get(name);
  if (found === undefined) {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    found = {
      pem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      key: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    };
    pairs.set(name, found);
  }
  return found;
}

type People = Record<string, { roles?: string[]; email?: string }>;

/** trust.yaml with these people, whose keys the test holds. */
function trustWith(one: Workspace, people: People, more = ""): void {
  const text = one
    .read("trust.yaml")
    .replace(/^people:\n(?: {2}.*\n)*/m, "")
    .replace(/^(?:approvals|notices):.*\n/gm, "");
  const list = Object.entries(people).map(([name, rest]) => `  - ${JSON.stringify({ name, key: keysOf(name).key, ...rest })}\n`);
  one.write("trust.yaml", `${text}\npeople:\n${list.join("")}${more}`);
}

async function made(people: People, more = "", options: { clock?: { now(): number } } = {}): Promise<{ one: Workspace; opened: Host }> {
  const one = await workspace({
    "policies/pay.yaml": POLICY,
    "agents/asks.ts": AGENT,
    "agents/simple.ts": SIMPLE,
    "agents/form.ts": FORM,
    "plugins/bank.ts": BANK,
  });
  trustWith(one, people, more);
  return { one, opened: await host(one, options) };
}

let keys = 0;
async function begin(opened: Host, agent: string, input: Json = {}, by?: string): Promise<RunRecord> {
  const cause = { kind: "command" as const, key: `k${++keys}` };
  const { id } = await opened.start(agent, { cause, input, ...(by === undefined ? {} : { by }) });
  return opened.engine.result(id, { timeoutMs: 15_000 });
}

/** Signed with that person's own key. */
function signedBy(name: string, opened: Host, card: Card, decision: Decision["decision"], more: Partial<Decision> = {}): Decision {
  return signDecision({ ...asked(card), decision, at: opened.clock.now(), by: name, ...more }, keysOf(name).pem);
}
async function say(
  name: string,
  opened: Host,
  id: string,
  decision: Decision["decision"] = "approved",
  more: Partial<Decision> = {},
): Promise<Decided> {
  return decideCard(opened, signedBy(name, opened, openCard(opened, id), decision, more));
}
const refused = (code: string, words: RegExp) => ({ code, message: expect.stringMatching(words) });
const ended = (opened: Host, id: string) => opened.engine.result(id, { ended: true, timeoutMs: 15_000 });
async function logs(opened: Host, id: string): Promise<string[]> {
  const said: string[] = [];
  for await (const { type, body } of opened.engine.events(id, 1)) if (type === "log") said.push((body as { message: string }).message);
  return said;
}

const TEAM: People = { Ann: { roles: ["manager"] }, Bob: { roles: ["director"] }, Leo: { roles: ["legal"] }, Zoe: {} };

describe("who may decide", () => {
  test("without the level nobody's yes or no counts, and the message names who could; a higher rank may", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "asks");
    await expect(say("Zoe", opened, id)).rejects.toMatchObject(
      refused("APPROVAL_LEVEL", /asks for manager; Zoe is without a role.*Ann, Bob\.$/),
    );
    await expect(say("Leo", opened, id, "rejected")).rejects.toMatchObject(refused("APPROVAL_LEVEL", /Leo is legal/));
    expect(await opened.engine.signals(id, openCard(opened, id).gate ?? "")).toEqual([]);
    await say("Bob", opened, id);
    expect(await ended(opened, id)).toMatchObject({ status: "done", result: { by: "Bob", decision: "approved" } });
    expect(one.bank()).toEqual(["ACME 120.00"]);
  });

  test("a demand for a role is met by that role alone, a demand for both by one person or two together", async () => {
    const { opened } = await made({ ...TEAM, Una: { roles: ["ceo", "legal"] } });
    const together = await begin(opened, "asks", { kind: "law" });
    expect(openCard(opened, together.id).levels?.toSorted()).toEqual(["legal", "manager"]);
    expect(await say("Leo", opened, together.id)).toMatchObject({ still: "the yes of manager", card: { said: ["Leo"] } });
    expect((await opened.engine.result(together.id, { timeoutMs: 9000 })).status).toBe("waiting");
    await say("Ann", opened, together.id);
    expect(await ended(opened, together.id)).toMatchObject({ outcome: "completed", result: { by: "Leo, Ann" } });
    const alone = await begin(opened, "asks", { kind: "law" });
    await say("Una", opened, alone.id);
    expect(await ended(opened, alone.id)).toMatchObject({ result: { by: "Una" } });
    const small = await begin(opened, "asks", { kind: "law", amount: "5.00" });
    await expect(say("Bob", opened, small.id)).rejects.toMatchObject(
      refused("APPROVAL_LEVEL", /asks for legal; Bob is director.*Leo, Una/),
    );
  });

  test("two people are two people: a double tap is one yes, a third tap by the other closes it", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "asks", { kind: "two" });
    const card = openCard(opened, id);
    const tap = signedBy("Ann", opened, card, "approved");
    await Promise.all([decideCard(opened, tap), decideCard(opened, tap)]);
    expect((await opened.engine.result(id, { timeoutMs: 9000 })).status).toBe("waiting");
    expect(one.bank()).toEqual([]);
    await say("Bob", opened, id);
    const end = await ended(opened, id);
    expect(end.meta).toMatchObject({ approvals: [{ by: "Ann" }, { by: "Bob" }] });
    expect(one.bank()).toEqual(["ACME 120.00"]);
  });

  test("who started the run may not approve it once trust.yaml names two, nor what an event or a later run of theirs started", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "asks", {}, "Ann");
    await expect(say("Ann", opened, id)).rejects.toMatchObject(refused("APPROVAL_SELF", /Ann started this run.*decided by Bob\./));
    const later = await opened.start("asks", { cause: { kind: "event", key: "e", detail: { run: id } }, input: {} });
    expect(await opened.engine.get(later.id)).toMatchObject({ by: "Ann" });
    await say("Bob", opened, id);
    expect(await ended(opened, id)).toMatchObject({ outcome: "completed" });
    expect(one.git("log", "--format=%B", "-1")).not.toContain("Approved-by: Ann");
  });

  test("who is alone decides what they started, recorded as self, but not where the policy demands another person", async () => {
    const { opened } = await made({ Ann: {} });
    const own = await begin(opened, "asks", {}, "Ann");
    await say("Ann", opened, own.id, "approved", { self: true });
    expect(await ended(opened, own.id)).toMatchObject({ outcome: "completed", meta: { approvals: [{ by: "Ann", self: true }] } });
    const other = await begin(opened, "asks", { kind: "other" }, "Ann");
    await expect(say("Ann", opened, other.id)).rejects.toMatchObject(refused("APPROVAL_SELF", /Nobody in trust.yaml can/));
  });

  test("what lies in the store is not believed: no forged, moved, borrowed or unable signal closes a gate", async () => {
    const { one, opened } = await made(TEAM);
    const small = await begin(opened, "asks", { amount: "101.00" });
    const large = await begin(opened, "asks", { amount: "9000.00" });
    const [from, to] = [openCard(opened, small.id), openCard(opened, large.id)];
    const gate = `${to.run}/${to.gate}`;
    const forged: Json[] = [
      null,
      "approved",
      { card: to.id, gate, decision: "approved", by: "Ann", at: 1 },
      { card: to.id, gate, decision: "approved", by: "Nobody", at: 1, signature: "AAAA" },
      { ...signedBy("Ann", opened, from, "approved"), card: to.id } as unknown as Json,
      signedBy("Ann", opened, from, "approved") as unknown as Json,
      signDecision({ card: to.id, gate, decision: "approved", by: "Ann", at: 1 }, keysOf("Zoe").pem) as unknown as Json,
      signDecision({ card: to.id, gate, decision: "approved", by: "Zoe", at: 1 }, keysOf("Zoe").pem) as unknown as Json,
      signDecision(
        { card: to.id, gate, decision: "approved", by: "Ann", at: 1, session: { key: keysOf("Zoe").key, until: 9e15, signature: "AAAA" } },
        keysOf("Zoe").pem,
      ) as unknown as Json,
      signDecision({ card: to.id, gate, decision: "edited", by: "Ann", at: 1, calls: [] }, keysOf("Ann").pem) as unknown as Json,
    ];
    for (const [i, payload] of forged.entries()) await opened.engine.signal(large.id, to.gate ?? "", payload, `forged ${i}`);
    opened.database.run("UPDATE cards SET decision = ? WHERE id = ?", JSON.stringify({ decision: "approved", by: "Ann", at: 1 }), to.id);
    await opened.engine.retry(large.id);
    expect(await opened.engine.result(large.id, { timeoutMs: 9000 })).toMatchObject({ status: "waiting", reason: "approval" });
    expect(one.bank()).toEqual([]);
  });

  test("of two decisions at once one wins, and the other person is told", async () => {
    const { one, opened } = await made(TEAM);
    for (const [first, second] of [
      ["approved", "rejected"],
      ["rejected", "approved"],
      ["approved", "approved"],
    ] as const) {
      const { id } = await begin(opened, "asks");
      const before = one.bank().length;
      const card = openCard(opened, id);
      const both = await Promise.allSettled([
        decideCard(opened, signedBy("Ann", opened, card, first)),
        decideCard(opened, signedBy("Bob", opened, card, second)),
      ]);
      expect(both.map((one) => (one.status === "fulfilled" ? "told" : one.reason.code)).toSorted()).toEqual(["CARD_CLOSED", "told"]);
      const won = opened.cards.get(card.id)?.decision;
      const end = await ended(opened, id);
      expect(end.outcome).toBe(won?.decision === "approved" ? "completed" : "rejected");
      expect(one.bank().length - before).toBe(won?.decision === "approved" ? 1 : 0);
      expect(won?.by).toBe(both[0]?.status === "fulfilled" ? "Ann" : "Bob");
    }
  });

  test("killed between the signal and the card: the run goes by the signal, and the card shows it", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "asks");
    const card = openCard(opened, id);
    await close(opened);
    const looking = await host(one, { mode: "look" });
    await looking.engine.signal(id, card.gate ?? "", signedBy("Ann", looking, card, "approved") as unknown as Json, "k");
    await abandon(looking);
    const again = await host(one);
    expect(await ended(again, id)).toMatchObject({ outcome: "completed", result: { by: "Ann" } });
    expect(again.cards.get(card.id)?.decision).toMatchObject({ decision: "approved", by: "Ann" });
    expect(one.bank()).toEqual(["ACME 120.00"]);
  });

  test("while it waits an edited policy changes nothing, and who may decide is what trust.yaml says by then", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "asks", { kind: "two" });
    await say("Ann", opened, id);
    one.commit({ "policies/pay.yaml": POLICY.replaceAll("level: manager", "level: board") });
    await close(opened);
    // Ann has left; her yes counts no more.
    trustWith(one, { Bob: { roles: ["director"] }, Kim: { roles: ["manager"] }, Leo: { roles: ["legal"] } });
    const again = await host(one);
    expect(openCard(again, id).level).toBe("manager");
    await say("Kim", again, id);
    expect((await again.engine.result(id, { timeoutMs: 9000 })).status).toBe("waiting");
    await expect(say("Leo", again, id)).rejects.toMatchObject(refused("APPROVAL_LEVEL", /Leo is legal/));
    await say("Bob", again, id);
    expect(await ended(again, id)).toMatchObject({ outcome: "completed", result: { by: "Kim, Bob" } });
  });
});

describe("edit, then approve", () => {
  test("the run goes on with the edited calls, its events say what changed, and the figure counts as a person's", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "asks");
    await say("Ann", opened, id, "edited", agreed(openCard(opened, id), { amount: "50.25", "calls.0.params.note": "second" }));
    expect(await ended(opened, id)).toMatchObject({ status: "done", result: { decision: "edited", by: "Ann" } });
    expect(one.bank()).toEqual(["ACME 50.25"]);
    expect((await logs(opened, id))[0]).toMatch(
      /^Ann changed calls\.0\.params\.amount "120.00" -> "50.25", calls\.0\.params\.note "first" -> "second"/,
    );
  });

  test("with a level demanded no amount may rise, and nothing else may be slipped in", async () => {
    const { opened } = await made(TEAM);
    const { id } = await begin(opened, "asks");
    const card = openCard(opened, id);
    const edit = (calls: unknown) => say("Ann", opened, id, "edited", { calls: calls as Card["calls"] });
    await expect(edit(agreed(card, { amount: "120.01" }).calls)).rejects.toMatchObject(
      refused("APPROVAL_LEVEL", /rise from 120.00 to 120.01/),
    );
    await expect(edit([...card.calls, ...card.calls])).rejects.toMatchObject({ code: "USAGE" });
    await expect(edit([{ tool: "bank_wire", params: card.calls[0]?.params }])).rejects.toMatchObject({ code: "USAGE" });
    for (const wrong of ["calls.0.tool", "calls.7.params.amount", "to.x", "calls.0.params.__proto__", "calls.0.params.to.x"])
      expect(() => agreed(card, { [wrong]: "1" }), wrong).toThrow(/nothing that can be set/);
    expect(() => agreed(card, { ammount: "1" })).toThrow(/Did you mean "amount"/);
    expect(agreed(card, { "calls.0.params.memo": "x" }).calls?.[0]?.params).toMatchObject({ memo: "x", amount: "120.00" });
  });

  test("of two who must agree, a yes to the old calls does not count for the edited ones", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "asks", { kind: "two" });
    const before = openCard(opened, id);
    await say("Ann", opened, id, "edited", agreed(before, { amount: "60.00" }));
    const late = signedBy("Bob", opened, before, "approved");
    expect(await decideCard(opened, late)).toMatchObject({ still: "1 more person", card: { said: ["Ann"] } });
    expect(one.bank()).toEqual([]);
    await say("Bob", opened, id);
    expect(await ended(opened, id)).toMatchObject({ result: { decision: "edited", by: "Ann, Bob" } });
    expect(one.bank()).toEqual(["ACME 60.00"]);
  });

  test("a no with its reason reaches the script and stands on the run", async () => {
    const { opened } = await made(TEAM);
    const { id } = await begin(opened, "simple", { params: { to: "A", amount: "1.00" }, level: "manager" });
    await say("Ann", opened, id, "rejected", { reason: "twice the price" });
    expect(await ended(opened, id)).toMatchObject({ result: { reason: "twice the price" } });
    expect(await logs(opened, id)).toEqual(['Ann said no to "Pay?": twice the price']);
  });
});

describe("forms", () => {
  test("values are checked like a run's input, answered with their types, and a figure in them may be paid", async () => {
    const { one, opened } = await made(TEAM);
    const { id, reason } = await begin(opened, "form");
    expect(reason).toBe("input");
    const card = openCard(opened, id);
    for (const [typed, words] of [
      [{ amount: "12,00" }, /amount: "12,00" is not an amount as text/],
      [{ amount: "12.00", days: "two" }, /days: "two" is not a whole number/],
      [{ amount: "12.00", kind: "boat" }, /kind: "boat" is not one of/],
      [{ days: "2" }, /"amount" is missing/],
      [{ amount: "12.00", extra: "1" }, /unknown field "extra"/],
    ] as const)
      await expect(say("Zoe", opened, id, "approved", agreed(card, typed))).rejects.toMatchObject(refused("RUN_INPUT", words));
    await say("Zoe", opened, id, "approved", agreed(card, { amount: "12.00", days: "2", kind: "taxi" }));
    await opened.engine.result(id, { timeoutMs: 9000 });
    // What was told is no approval: the gate still asks.
    expect(openCard(opened, id)).toMatchObject({ kind: "approval", calls: [{ params: { amount: "12.00" } }] });
    await say("Ann", opened, id);
    expect(await ended(opened, id)).toMatchObject({ result: { told: { by: "Zoe", values: { amount: "12.00", days: 2, kind: "taxi" } } } });
    expect(one.bank()).toEqual(["TAXI 12.00"]);
  });
});

describe("profiles", () => {
  const AUTO =
    'approvals: {agents: {simple: {mode: auto, up_to: "100.00", currency: USD}, asks: {mode: auto, up_to: "10000.00", currency: USD}}}\n';

  test.each([
    ["exactly the limit", { to: "A", amount: "100.00" }, "done"],
    ["the limit in another spelling", { to: "A", amount: "100" }, "done"],
    ["a cent over", { to: "A", amount: "100.01" }, "waiting"],
    ["far over", { to: "A", amount: "1000.00" }, "waiting"],
    ["another currency", { to: "A", amount: "5.00", currency: "EUR" }, "waiting"],
    ["an amount with words", { to: "A", amount: "USD 5.00" }, "waiting"],
    ["many of a small amount", { to: "A", amount: "5.00", quantity: 1000 }, "waiting"],
  ])("auto: %s", async (_name, params, status) => {
    const { opened } = await made(TEAM, AUTO);
    const run = await begin(opened, "simple", { params });
    expect(run.status).toBe(status);
    if (status === "done") {
      expect(run).toMatchObject({ result: { by: "profile:auto" }, meta: { approvals: [{ by: "profile:auto" }] } });
      expect(await logs(opened, run.id)).toEqual(['profile:auto of trust.yaml said yes to "Pay?"']);
    }
  });

  test("auto never answers what escalates, asks for two or for another person, or came with rules of its own", async () => {
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

  test("a profile with a word wrong, or a person who could be taken for one, is refused at load", async () => {
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
  test("once a person and interval, to those who may decide and have not; without mail every command tells", async () => {
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

  test("nobody answered in time: the run ends as expired, and a late answer is told so", async () => {
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
