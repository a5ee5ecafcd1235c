/** Who may decide, what a yes covers, and what a form is told: on real runs, with real keys, against what lies in the store. */
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { agreed, decideCard } from "../../runtime/app/decide.ts";
import { wakeWaiting } from "../../runtime/app/wake.ts";
import { signDecision } from "../../runtime/engine/signature.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { NOBODY } from "../../runtime/kernel/text.ts";
import { AGENT, POLICY, SIMPLE, TEAM, begin, ended, keysOf, made, refused, say, signedBy, trustWith } from "./gates.ts";
import { abandon, close, closeAll, host, openCard, removeAll } from "./harness.ts";

const NOTE = { kind: "note" as const, body: null, run: null, gate: null, calls: [], level: null, expires: null };

afterEach(closeAll);
afterAll(removeAll);

describe("who may decide", () => {
  test("without the level nobody's decision counts, and the message names who could decide; a higher rank may", async () => {
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

  test("a required role is met only by that role, two required roles by one person or two together", async () => {
    const { opened } = await made({ ...TEAM, Una: { roles: ["ceo", "legal"] } });
    const together = await begin(opened, "asks", { kind: "law" });
    expect(openCard(opened, together.id).levels?.toSorted()).toEqual(["legal", "manager"]);
    expect(await say("Leo", opened, together.id)).toMatchObject({ still: "approval by manager", card: { said: ["Leo"] } });
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

  test("two people are two people: repeating an approval counts once, the other person's closes the card", async () => {
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

  test("people added or removed while a card waits change who is asked: no approval is accepted that frees nothing, and no run waits on a closed card", async () => {
    const { one, opened } = await made({ Ann: { roles: ["manager"] } });
    const { id } = await begin(opened, "asks", {}, "Ann");
    const alone = signedBy("Ann", opened, openCard(opened, id), "approved", { self: true });
    await close(opened);
    trustWith(one, { Ann: { roles: ["manager"] }, Bob: { roles: ["director"] } });
    const two = await host(one);
    await expect(decideCard(two, alone)).rejects.toMatchObject(refused("APPROVAL_SELF", /decided by Bob\./));
    // Her yes from before lies in the store, and its card was closed by it.
    await two.engine.signal(id, openCard(two, id).gate ?? "", alone as unknown as Json, "before");
    two.cards.decide(openCard(two, id).id, alone);
    await wakeWaiting(two);
    expect(await two.engine.result(id, { timeoutMs: 9000 })).toMatchObject({ status: "waiting" });
    expect(openCard(two, id)).toMatchObject({ not_by: "Ann", decision: null });
    await close(two);
    // Bob leaves again: what he was to decide is hers.
    trustWith(one, { Ann: { roles: ["manager"] } });
    const last = await host(one);
    await wakeWaiting(last);
    expect(await ended(last, id)).toMatchObject({ outcome: "completed", result: { by: "Ann" } });
    expect(one.bank()).toEqual(["ACME 120.00"]);
  });

  test("whoever started the run may not approve it once trust.yaml names two people, nor what its events or later runs start", async () => {
    const { opened } = await made(TEAM);
    const { id } = await begin(opened, "asks", {}, "Ann");
    await expect(say("Ann", opened, id)).rejects.toMatchObject(refused("APPROVAL_SELF", /Ann started this run.*decided by Bob\./));
    const later = await opened.start("asks", { cause: { kind: "event", key: "e", detail: { run: id } }, input: {} });
    expect(await opened.engine.get(later.id)).toMatchObject({ by: "Ann" });
    await say("Bob", opened, id);
    expect(await ended(opened, id)).toMatchObject({ outcome: "completed" });
  });

  test("who starts a run from a shell without a key decides it alone neither then nor later: any two people, or the other one, must agree", async () => {
    const { one, opened } = await made(TEAM);
    const { run, exec } = createApi(opened);
    const started = await run({ agent: "simple", input: { params: { to: "ACME", amount: "5.00" } }, wait: true });
    expect(started).toMatchObject({ status: "waiting", by: NOBODY });
    expect(openCard(opened, started.id)).toMatchObject({ approvals: 2, started_by: NOBODY });
    await say("Ann", opened, started.id);
    expect((await opened.engine.result(started.id, { timeoutMs: 9000 })).status).toBe("waiting");
    expect(one.bank()).toEqual([]);
    await say("Bob", opened, started.id);
    expect(await ended(opened, started.id)).toMatchObject({ outcome: "completed" });
    expect(one.bank()).toEqual(["ACME 5.00"]);
    await exec({ file: "simple.ts", text: SIMPLE, input: { params: { to: "A", amount: "1.00" } }, live: true, check: false });
    expect(opened.cards.list({ open: true })).toMatchObject([{ approvals: 2 }]);
  });

  test("alone, and unidentified at the start, a person does not stand for the other one that the policy requires", async () => {
    const { opened } = await made({ Ann: {} });
    const own = await createApi(opened).run({ agent: "asks", input: {}, wait: true });
    await say("Ann", opened, own.id, "approved", { self: true });
    expect(await ended(opened, own.id)).toMatchObject({ outcome: "completed" });
    const other = await createApi(opened).run({ agent: "asks", input: { kind: "other" }, wait: true });
    expect(openCard(opened, other.id)).toMatchObject({ approvals: 2 });
    await say("Ann", opened, other.id, "approved", { self: true });
    expect((await opened.engine.result(other.id, { timeoutMs: 9000 })).status).toBe("waiting");
  });

  test("whoever the record names as its requester does not approve it, by their id at any server or by name; if it names nobody, two people must", async () => {
    const { one, opened } = await made({ ...TEAM, Ann: { roles: ["manager"], ids: { erp: "E-1042" } } });
    one.commit({
      "policies/pay.yaml": POLICY.replace("facts:", "requester: filed_by\nfacts:"),
      "agents/asks.ts": AGENT.replace("default: plain}", "default: plain}, filed_by: {type: string}").replace(
        "kind: input.kind",
        "kind: input.kind, filed_by: input.filed_by",
      ),
    });
    const filed = await begin(opened, "asks", { filed_by: "e-1042 " }, "Zoe");
    expect(openCard(opened, filed.id)).toMatchObject({ not_by: "Zoe", requesters: ["e-1042"] });
    await expect(say("Ann", opened, filed.id)).rejects.toMatchObject(
      refused("APPROVAL_SELF", /Ann is e-1042.*requested.*decided by Bob\./),
    );
    const { gate } = openCard(opened, filed.id);
    // Nor by a signed decision that is only a row.
    await opened.engine.signal(
      filed.id,
      gate ?? "",
      signedBy("Ann", opened, openCard(opened, filed.id), "approved") as unknown as Json,
      "row",
    );
    expect((await opened.engine.result(filed.id, { timeoutMs: 9000 })).status).toBe("waiting");
    await say("Bob", opened, filed.id);
    expect(await ended(opened, filed.id)).toMatchObject({ outcome: "completed", result: { by: "Bob" } });
    const named = await begin(opened, "asks", { filed_by: "Bob" }, "Zoe");
    await expect(say("Bob", opened, named.id)).rejects.toMatchObject(refused("APPROVAL_SELF", /decided by Ann\./));
    const unknown = await begin(opened, "asks", {}, "Zoe");
    expect(openCard(opened, unknown.id)).toMatchObject({ approvals: 2 });
    expect(one.bank()).toEqual(["ACME 120.00"]);
    // Nobody has this id: Ann's says that she is another, and Bob has none.
    const either = [await begin(opened, "asks", { filed_by: "E-7" }, "Zoe"), await begin(opened, "asks", { filed_by: "E-7" }, "Zoe")];
    const [first = "", second = ""] = either.map(({ id }) => id);
    expect((await say("Bob", opened, first)).still).toMatch(
      /^approval by a second person, or by one who has an id under ids: in trust\.yaml/,
    );
    expect((await opened.engine.result(first, { timeoutMs: 9000 })).status).toBe("waiting");
    await say("Ann", opened, second);
    expect(await ended(opened, second)).toMatchObject({ outcome: "completed", result: { by: "Ann" } });
    await say("Ann", opened, first);
    expect(await ended(opened, first)).toMatchObject({ outcome: "completed", result: { by: "Bob, Ann" } });
  });

  test("a card that is open already takes no number when it is asked for again, so people type the numbers in order", async () => {
    const { opened } = await made({ Ann: {} });
    const ask = (key: string) => opened.cards.open(key, { ...NOTE, title: key }, 1);
    for (let i = 0; i < 5; i++) for (const key of ["a", "b"]) ask(key);
    ask("c");
    expect(opened.cards.list().map(({ id, key }) => [id, key])).toEqual([
      [1, "a"],
      [2, "b"],
      [3, "c"],
    ]);
  });

  test("a person who is alone decides what they started, recorded as self, unless the policy requires another person", async () => {
    const { opened } = await made({ Ann: {} });
    const own = await begin(opened, "asks", {}, "Ann");
    await say("Ann", opened, own.id, "approved", { self: true });
    expect(await ended(opened, own.id)).toMatchObject({ outcome: "completed", meta: { approvals: [{ by: "Ann", self: true }] } });
    const other = await begin(opened, "asks", { kind: "other" }, "Ann");
    await expect(say("Ann", opened, other.id)).rejects.toMatchObject(refused("APPROVAL_SELF", /No one in trust.yaml can/));
  });

  test("stored decisions are not trusted: no forged, moved, borrowed or unauthorized signal closes a gate", async () => {
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

  test("of two simultaneous decisions one wins, and the other person is told", async () => {
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

  test("an approval with an account was meant for an entry: it pays nothing", async () => {
    const { one, opened } = await made(TEAM);
    const { id } = await begin(opened, "simple", { params: { to: "A", amount: "5.00" } });
    await expect(say("Ann", opened, id, "approved", { account: "5020" })).rejects.toMatchObject(refused("USAGE", /takes no account/));
    expect(one.bank()).toEqual([]);
  });

  test("killed between the signal and the card: the run follows the signal, and the card shows it", async () => {
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

  test("while it waits, an edited policy changes nothing, and current trust.yaml says who may decide", async () => {
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

describe("forms", () => {
  test("values are validated like a run's input, returned with their types, and a figure in them may be paid", async () => {
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
