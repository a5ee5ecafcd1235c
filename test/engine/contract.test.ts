/** What the Engine port promises, on the SQLite engine, through a real host: another engine must pass the same. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { API } from "../../runtime/kernel/primitive.ts";
import {
  close,
  closeAll,
  decide,
  eventsOf,
  host,
  openCard,
  removeAll,
  run,
  start,
  upTo,
  workspace,
  type Workspace,
  signed,
} from "./harness.ts";

let one: Workspace;
let opened: Host;
beforeAll(async () => {
  one = await workspace();
});
const begin = async (options = {}) => (opened = await host(one, options));
afterEach(closeAll);
afterAll(removeAll);

const rest = (id: string) => opened.engine.result(id, { timeoutMs: 100_000 });
const until = async (what: () => boolean | Promise<boolean>) => {
  for (let i = 0; i < 500 && !(await what()); i++) await new Promise((next) => setTimeout(next, 10));
  expect(await what()).toBe(true);
};
const pinOf = async (commit: string, agent: string) => ({
  commit,
  blob: (await opened.git.tree(commit).blob(`agents/${agent}.ts`)) ?? "",
  api: API,
});

describe("start", () => {
  test("the same cause, agent and key start one run; another agent or key starts another", async () => {
    await begin();
    const cause = { kind: "schedule", key: "2026-11-06T06:00" } as const;
    const first = await opened.start("quick", { cause, input: {} });
    const again = await opened.start("quick", { cause, input: { n: 2 } });
    expect([first.created, again.created, again.id]).toEqual([true, false, first.id]);
    expect((await opened.start("book", { cause, input: {} })).created).toBe(true);
    expect((await opened.start("quick", { cause: { kind: "event", key: cause.key }, input: {} })).created).toBe(true);
    expect((await rest(first.id)).result).toEqual({ n: 1 });
    await close(opened);
    await begin();
    expect(await opened.start("quick", { cause, input: {} })).toEqual({ id: first.id, created: false });
  });

  test("a higher priority goes first, and a run with a start time waits for it", async () => {
    let now = Date.now();
    await begin({ clock: { now: () => now }, mode: "look" });
    const commit = await opened.git.head();
    const spec = { agent: "quick", pin: await pinOf(commit, "quick"), input: { n: 1 }, mode: "live" as const };
    const ids: string[] = [];
    for (const [key, more] of [
      ["low", {}],
      ["high", { priority: 5 }],
      ["later", { priority: 9, notBefore: now + 60_000 }],
    ] as const) {
      ids.push((await opened.engine.start({ ...spec, cause: { kind: "command", key }, ...more })).id);
    }
    const order: string[] = [];
    const working = opened.engine.work(
      async (log) => {
        order.push(String(log.run.cause.key));
        log.end({ status: "done", outcome: "completed", result: null });
      },
      { concurrency: 1 },
    );
    await until(() => order.length === 2);
    await new Promise((next) => setTimeout(next, 600));
    expect(order).toEqual(["high", "low"]);
    now += 60_000;
    await until(() => order.length === 3);
    expect((await opened.engine.get(ids[2] ?? ""))?.status).toBe("done");
    await working.stop(1000);
  });
});

describe("signal", () => {
  test("one that arrives before the wait is found when the run gets there", async () => {
    await begin({ mode: "look" });
    const id = await start(opened, "gate", { n: 1 });
    await close(opened);
    // The gate's name holds its question; a twin run tells it.
    await begin();
    await rest(id);
    const gate = openCard(opened, id).gate ?? "";
    await close(opened);
    await begin({ mode: "look" });
    const early = await start(opened, "gate", { n: 1 });
    expect(await opened.engine.signal(early, gate, signed(opened, early, gate), "k")).toBe("accepted");
    await close(opened);
    await begin();
    expect(await rest(early)).toMatchObject({ status: "done", result: { decision: "approved", by: "Pat", n: 1 } });
    expect(opened.cards.list({ run: early })).toEqual([]);
    await opened.engine.cancel(id, "test");
  });

  test("the same key twice counts once; another one after the decision, and any after the end, are told so", async () => {
    await begin();
    const { id } = await run(opened, "gate");
    const card = openCard(opened, id);
    const yes = signed(opened, id, card.gate);
    expect(await opened.engine.signal(id, card.gate ?? "", yes, "a")).toBe("accepted");
    expect(await opened.engine.signal(id, card.gate ?? "", yes, "a")).toBe("duplicate");
    expect((await opened.engine.result(id, { ended: true })).result).toMatchObject({ decision: "approved" });
    expect(await opened.engine.signal(id, card.gate ?? "", yes, "a")).toBe("closed");
    // The answer reached the run, so its card is closed with it.
    expect(opened.cards.get(card.id)?.decision).toMatchObject({ decision: "approved", by: "Pat" });
    await expect(opened.engine.signal("run_none", "g", null, "a")).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
    expect(await eventsOf(opened, id)).toMatchObject({ numbers: upTo((await eventsOf(opened, id)).numbers.length) });
  });

  test("one at the very moment of suspension is never lost", async () => {
    await begin();
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => start(opened, "gate", { n })));
    await Promise.all(
      ids.map(async (id, i) => {
        await until(() => opened.cards.list({ run: id }).length > 0);
        const card = openCard(opened, id);
        for (let spin = 0; spin < i; spin++) await Promise.resolve();
        await opened.engine.signal(id, card.gate ?? "", signed(opened, id, card.gate ?? ""), "k");
        expect((await opened.engine.result(id, { ended: true, timeoutMs: 100_000 })).status).toBe("done");
      }),
    );
  });
});

describe("cancel", () => {
  test("a queued run never runs", async () => {
    await begin({ mode: "look" });
    const id = await start(opened, "book");
    expect([await opened.engine.cancel(id, "no"), await opened.engine.cancel(id, "no")]).toEqual([true, false]);
    await close(opened);
    await begin();
    await new Promise((next) => setTimeout(next, 100));
    expect(await opened.engine.get(id)).toMatchObject({ status: "canceled", attempt: 0 });
  });

  test("a run that loops is stopped and its slot is free", async () => {
    one.commit({
      "trust.yaml": one
        .read("trust.yaml")
        .replace(/^limits:$/m, "limits:\n  total_bytes: 268435456")
        .replace(/^ {2}cpu_ms: .*$/m, "  cpu_ms: 60000")
        .replace(/^ {2}total_bytes: 268435456 .*$/m, ""),
    });
    await begin();
    const ids = [await start(opened, "loop"), await start(opened, "loop")];
    await until(async () => (await opened.engine.list({ status: ["running"] })).length === 2);
    for (const id of ids) expect(await opened.engine.cancel(id, "enough")).toBe(true);
    expect((await run(opened, "quick")).status).toBe("done");
    for (const id of ids) {
      expect((await opened.engine.get(id))?.status).toBe("canceled");
      const { numbers } = await eventsOf(opened, id);
      expect(numbers).toEqual(upTo(numbers.length));
    }
  });

  test("a suspended run's card is closed with it, and a signal racing the cancel changes nothing", async () => {
    await begin();
    const { id } = await run(opened, "gate");
    const card = openCard(opened, id);
    const [canceled, answer] = await Promise.all([
      opened.engine.cancel(id, "no"),
      opened.engine.signal(id, card.gate ?? "", signed(opened, id, card.gate ?? ""), "k"),
    ]);
    expect([canceled, answer]).toEqual([true, "closed"]);
    expect(opened.cards.get(card.id)?.decision).toMatchObject({ decision: "expired", by: "runtime" });
    const other = await run(opened, "gate");
    const gate = openCard(opened, other.id).gate ?? "";
    await Promise.all([opened.engine.signal(other.id, gate, signed(opened, other.id, gate), "k"), opened.engine.cancel(other.id, "no")]);
    await new Promise((next) => setTimeout(next, 200));
    expect((await opened.engine.get(other.id))?.status).toBe("canceled");
  });
});

describe("looking", () => {
  test("events have no gaps over reads, gates, failures and resumes, and can be followed to the end", async () => {
    await begin();
    const { id } = await run(opened, "gate");
    const followed: string[] = [];
    const following = (async () => {
      for await (const event of opened.engine.events(id, 1, { follow: true })) followed.push(`${event.seq} ${event.type}`);
    })();
    await decide(opened, id, "approved");
    await following;
    expect(followed.map((line) => Number(line.split(" ")[0]))).toEqual(upTo(followed.length));
    expect(followed.at(-1)).toMatch(/ ended$/);
    expect(followed.filter((line) => line.endsWith(" step"))).toHaveLength(2);
    const tail: number[] = [];
    for await (const event of opened.engine.events(id, followed.length - 1)) tail.push(event.seq);
    expect(tail).toEqual([followed.length - 1, followed.length]);
    const abort = new AbortController();
    const { id: waits } = await run(opened, "gate");
    setTimeout(() => abort.abort(), 50);
    let seen = 0;
    for await (const _ of opened.engine.events(waits, 1, { follow: true, abort: abort.signal })) seen += 1;
    expect(seen).toBeGreaterThan(2);
    await opened.engine.cancel(waits, "test");
  });

  test("lists page by run, newest first, and filter by agent, status and reason", async () => {
    await begin();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await run(opened, "quick", { n })).id);
    const first = await opened.engine.list({ agent: "quick", limit: 2 });
    expect(first.map((run) => run.id)).toEqual([ids[4], ids[3]]);
    expect((await opened.engine.list({ agent: "quick", limit: 2, before: first[1]?.id ?? "" })).map((run) => run.id)).toEqual([
      ids[2],
      ids[1],
    ]);
    const { id } = await run(opened, "gate");
    expect((await opened.engine.list({ status: ["waiting"], reason: "approval" })).map((run) => run.id)).toEqual([id]);
    expect(await opened.engine.list({ status: ["failed"], agent: "gate" })).toEqual([]);
    await opened.engine.cancel(id, "test");
    await expect(opened.engine.steps("run_none")).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
    expect(await opened.engine.get("run_none")).toBeNull();
  });
});

describe("fork and migrate", () => {
  test("a fork has the first steps as its own history and continues from there independently", async () => {
    await begin();
    const source = await run(opened, "pay");
    await decide(opened, source.id, "approved");
    const steps = await opened.engine.steps(source.id);
    const gate = steps.findIndex((step) => step.name === "approval_wait");
    const id = await opened.engine.fork(source.id, gate);
    expect(await rest(id)).toMatchObject({ status: "waiting", reason: "approval", parent: source.id });
    expect((await opened.engine.steps(id)).map((step) => step.result)).toEqual(steps.slice(0, gate).map((step) => step.result));
    const { numbers } = await eventsOf(opened, id);
    expect(numbers).toEqual(upTo(numbers.length));
    await opened.engine.cancel(id, "test");
    // The approval was for the run that has paid already.
    const after = await opened.engine.fork(source.id, gate + 1);
    expect(await rest(after)).toMatchObject({ status: "failed", error: { code: "APPROVAL_REQUIRED" } });
    expect(one.bank()).toEqual(["pay"]);
    expect((await opened.engine.get(source.id))?.status).toBe("done");
  });

  test("a waiting run moves to other code if its history is valid there, and otherwise diverges with both calls named", async () => {
    await begin();
    const source = one.read("agents/gate.ts");
    const fits = one.commit({ "agents/gate.ts": source.replace("n: input.n })", "n: 42 })") });
    const differs = one.commit({ "agents/gate.ts": source.replace("ctx_now();", "ctx_log('other');") });
    one.commit({ "agents/gate.ts": source });
    const { id } = await run(opened, "gate");
    await opened.engine.migrate(id, await pinOf(differs, "gate"));
    const diverged = await rest(id);
    expect(diverged).toMatchObject({ status: "diverged", error: { code: "HISTORY_DIVERGED" } });
    expect(diverged.error?.message).toMatch(/Step 0 of run_\w+ was recorded as ctx_now\(\{\}\), but the script now calls ctx_log\(.*other/);
    await opened.engine.migrate(id, await pinOf(fits, "gate"));
    expect((await rest(id)).status).toBe("waiting");
    expect(await decide(opened, id, "approved")).toMatchObject({ status: "done", result: { n: 42 } });
    await expect(opened.engine.migrate(id, await pinOf(fits, "gate"))).rejects.toMatchObject({ code: "RUN_STATUS" });
  });

  test("an approval of the old question does not answer the new script's question", async () => {
    await begin();
    const source = one.read("agents/pay.ts");
    const { id } = await run(opened, "pay");
    const old = openCard(opened, id);
    const greedy = one.commit({ "agents/pay.ts": source.replace('amount: "120.00" };', 'amount: "999.00" };') });
    one.commit({ "agents/pay.ts": source });
    await opened.engine.migrate(id, await pinOf(greedy, "pay"));
    await rest(id);
    expect(opened.cards.get(old.id)?.decision).toMatchObject({ decision: "expired" });
    expect(openCard(opened, id).calls).toEqual([{ tool: "bank_pay", params: { to: "ACME", amount: "999.00" } }]);
    expect(await opened.engine.signal(id, old.gate ?? "", signed(opened, id, old.gate ?? ""), "late")).toBe("closed");
    // Back on the first version the first question is open again.
    await opened.engine.migrate(id, await pinOf(await opened.git.head(), "pay"));
    await rest(id);
    expect(openCard(opened, id).id).toBe(old.id);
    await opened.engine.cancel(id, "test");
  });
});
