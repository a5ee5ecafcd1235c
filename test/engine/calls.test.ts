/** What the engine promises about single calls: approvals cover exactly what they name, reads are retried, slow calls free their slot. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Host } from "../../runtime/app/host.ts";
import {
  abandon,
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
afterEach(closeAll);
afterAll(removeAll);

const until = async (what: () => boolean | Promise<boolean>, ms = 5000) => {
  for (const end = Date.now() + ms; Date.now() < end && !(await what()); ) await new Promise((next) => setTimeout(next, 10));
  expect(await what()).toBe(true);
};
let before = 0; // what had reached the bank when the test began
const open = async (options = {}) => {
  before = one.bank().length;
  opened = await host(one, options);
};
const bank = () => one.bank().slice(before);

test("the engine's error about a missing value is explained in words, with the read that found nothing", async () => {
  const body = `const found = data_read("rates.json") as any;\nfound.rate.price;`;
  one.commit({ "agents/rates.ts": `/*\nname: Rates\nuses: [data]\n*/\n${body}\n` });
  await open();
  const { error } = await run(opened, "rates");
  expect(error).toMatchObject({ code: "SCRIPT_ERROR", at: { file: "agents/rates.ts", line: 6 }, data: { engine: expect.any(String) } });
  expect(error?.message).toMatch(/^The script needs "price" of something that is not there\. .* Nothing was found by data_read /);
});

test("a sub-script only starts with valid input by its header, and fills in no defaults without its caller's knowledge", async () => {
  const days =
    "/*\nname: Days\ninput: {from: {type: date, required: true}, add: {type: integer}}\n*/\n({ day: input.from, add: input.add ?? 0 });\n";
  const called = (params: string, sub = "days") => `/*\nname: Calls\nuses: [script]\n*/\nscript_run("${sub}", ${params});\n`;
  one.commit({
    "scripts/days.ts": days,
    "scripts/free.ts": "({ got: input.any });\n",
    "agents/fits.ts": called('{ from: "2026-02-28", add: null }'),
    "agents/free.ts": called("{ any: null }", "free"),
    "agents/no_date.ts": called("{ from: null }"),
    "agents/other_key.ts": called('{ from: "2026-02-28", days: 3 }'),
  });
  await open();
  expect((await run(opened, "fits")).result).toEqual({ day: "2026-02-28", add: 0 });
  expect((await run(opened, "free")).result).toEqual({ got: null });
  const { status, error } = await run(opened, "no_date");
  expect([status, error?.code, error?.at?.file, error?.at?.line]).toEqual(["failed", "PARAMS_INVALID", "agents/no_date.ts", 5]);
  expect(error?.message).toContain("The input of scripts/days.ts does not fit its header: from: ");
  expect((await run(opened, "other_key")).error?.message).toContain('unknown field "days". It has from, add');
});

describe("approvals", () => {
  test("without one an external call is refused and nothing reaches the bank", async () => {
    one.commit({ "agents/rogue.ts": '/*\nname: Rogue\nuses: [bank]\n*/\nbank_pay({ to: "X", amount: "1" });\n' });
    await open();
    const end = await run(opened, "rogue");
    expect(end).toMatchObject({ status: "failed", error: { code: "APPROVAL_REQUIRED", at: { file: "agents/rogue.ts", line: 5 } } });
    await opened.engine.retry(end.id);
    expect(await opened.engine.result(end.id)).toMatchObject({ status: "failed", error: { code: "APPROVAL_REQUIRED" } });
    expect(bank()).toEqual([]);
  });

  test("an approved call is made once: the same call again, and one with other params, need approvals of their own", async () => {
    await open();
    const twice = await run(opened, "greedy");
    const end = await decide(opened, twice.id, "approved");
    expect(end).toMatchObject({ status: "failed", error: { code: "APPROVAL_REQUIRED", at: { line: 12 } } });
    expect(bank()).toEqual(["wire"]);
    // Not even after a resume, which rebuilds from the history what has been spent.
    await opened.engine.retry(twice.id);
    expect((await opened.engine.result(twice.id)).error?.code).toBe("APPROVAL_REQUIRED");
    expect(bank()).toEqual(["wire"]);
    const other = await run(opened, "greedy", { second: "other" });
    expect(await decide(opened, other.id, "approved")).toMatchObject({
      status: "failed",
      error: { code: "APPROVAL_REQUIRED", at: { line: 10 } },
    });
    expect(bank()).toEqual(["wire"]);
  });

  test("an unused approval is no error, and a rejected run ends as rejected", async () => {
    await open();
    const unused = await run(opened, "thrifty");
    expect(await decide(opened, unused.id, "approved")).toMatchObject({ status: "done", outcome: "completed", result: "unused" });
    const no = await run(opened, "pay");
    expect(await decide(opened, no.id, "rejected")).toMatchObject({ status: "done", outcome: "rejected", result: { paid: false } });
    expect(bank()).toEqual([]);
  });

  test("without a decision in time the run ends as expired, its card is closed, and three days count from the first request", async () => {
    let now = Date.UTC(2026, 10, 10, 12);
    const clock = { now: () => now };
    await open({ clock });
    const { id } = await run(opened, "gate");
    const card = openCard(opened, id);
    expect(card.expires).toBe(now + 3 * 86_400_000);
    // Looked at again on the second day: the time is not set anew.
    now += 2 * 86_400_000;
    await opened.engine.retry(id);
    expect(await opened.engine.result(id)).toMatchObject({ status: "waiting" });
    expect(openCard(opened, id).id).toBe(card.id);
    await close(opened);
    now += 86_400_000 - 1000;
    await open({ clock });
    await new Promise((next) => setTimeout(next, 600));
    expect((await opened.engine.get(id))?.status).toBe("waiting");
    now += 1000;
    expect(await opened.engine.result(id, { ended: true, timeoutMs: 5000 })).toMatchObject({
      status: "done",
      outcome: "expired",
      result: { outcome: "expired", reason: 'Nobody answered "Go on with 1?" in time.' },
    });
    expect(opened.cards.get(card.id)?.decision).toMatchObject({ decision: "expired" });
    expect((await eventsOf(opened, id)).kinds.at(-1)).toBe("ended");
  });

  test("a decision made in time counts even if the computer was off until after the expiry", async () => {
    let now = Date.UTC(2026, 10, 10, 12);
    await open({ clock: { now: () => now } });
    const { id } = await run(opened, "gate");
    const card = openCard(opened, id);
    await close(opened);
    const looking = await host(one, { mode: "look", clock: { now: () => now } });
    await looking.engine.signal(id, card.gate ?? "", signed(looking, id, card.gate ?? ""), "k");
    await close(looking);
    now += 30 * 86_400_000;
    await open({ clock: { now: () => now } });
    expect(await opened.engine.result(id)).toMatchObject({ status: "done", outcome: "completed", result: { decision: "approved" } });
  });
});

describe("failures", () => {
  test("a read that fails twice is repeated, one that keeps failing fails the run, and a resume tries once more", async () => {
    await open();
    const fine = await run(opened, "rate", { day: "a", failures: 2 });
    const done = await opened.engine.result(fine.id, { ended: true });
    expect(done).toMatchObject({ status: "done", result: { rate: "1.1" } });
    expect((await opened.engine.steps(fine.id))[0]).toMatchObject({ state: "ok", attempts: 3 });
    const bad = await run(opened, "rate", { day: "b", failures: 4 });
    expect(await opened.engine.result(bad.id, { ended: true })).toMatchObject({ status: "failed", error: { code: "PLUGIN_FAILED" } });
    expect(bank().filter((what) => what === "rate b")).toHaveLength(3);
    await opened.engine.retry(bad.id);
    expect(await opened.engine.result(bad.id, { ended: true })).toMatchObject({ status: "done" });
    const { numbers, kinds } = await eventsOf(opened, bad.id);
    expect(numbers).toEqual(upTo(numbers.length));
    expect(kinds.filter((kind) => kind === "step")).toHaveLength(2);
  });

  test("a failed external call may have happened: a resume asks a person before it is repeated", async () => {
    await open();
    const { id } = await run(opened, "break");
    expect(await decide(opened, id, "approved")).toMatchObject({ status: "failed", error: { code: "PLUGIN_FAILED" } });
    await opened.engine.retry(id);
    expect(await opened.engine.result(id)).toMatchObject({ status: "waiting", reason: "in_doubt" });
    expect(bank()).toEqual(["break"]);
    expect(await decide(opened, id, "rejected")).toMatchObject({ status: "done", result: { paid: true } });
    expect(bank()).toEqual(["break", "break"]);
    const { numbers } = await eventsOf(opened, id);
    expect(numbers).toEqual(upTo(numbers.length));
  });
});

describe("slow calls", () => {
  test("a slow read frees its slot: with one slot other runs execute meanwhile, and the run continues once it has answered", async () => {
    const single = await workspace({ "agents/slow.ts": one.read("agents/slow.ts").replace("600", "1500") });
    single.commit({ "trust.yaml": single.read("trust.yaml").replace(/slots: 2/, "slots: 1") });
    opened = await host(single);
    const slow = await start(opened, "slow");
    await until(async () => (await opened.engine.get(slow))?.reason === "slow_call");
    // Neither a resume by hand nor a signal starts a second execution beside the call.
    await opened.engine.retry(slow);
    await opened.engine.signal(slow, "gate_9", null, "k");
    expect((await opened.engine.get(slow))?.reason).toBe("slow_call");
    await expect(opened.engine.migrate(slow, { commit: "", blob: "", api: 1 })).rejects.toMatchObject({ code: "RUN_STATUS" });
    for (let n = 0; n < 3; n++) expect((await run(opened, "quick", { n })).status).toBe("done");
    expect((await opened.engine.steps(slow)).map((step) => step.name)).toEqual(["ctx_now"]);
    expect(await opened.engine.result(slow)).toMatchObject({ status: "done", result: { rate: "1.2" } });
    expect(single.bank()).toEqual(["slow"]);
  });

  test("a slow call that answers while the run is being suspended is not missed", async () => {
    one.commit({ "agents/edge.ts": "/*\nname: Edge\nuses: [bank]\ninput: {ms: {type: integer}}\n*/\nbank_slow(input.ms).rate;\n" });
    await open();
    const ids: string[] = [];
    for (let ms = 244; ms <= 258; ms++) ids.push(await start(opened, "edge", { ms }));
    for (const id of ids) expect((await opened.engine.result(id, { timeoutMs: 8000, ended: true })).status).toBe("done");
  });

  test("a kill during a slow read repeats it; during a slow external call nothing is sent twice, and a person says what happened", async () => {
    await open();
    const read = await start(opened, "slow");
    const { id: pays } = await run(opened, "slowpay");
    await decideAndLeave(pays);
    await until(
      async () => (await opened.engine.get(pays))?.reason === "slow_call" && (await opened.engine.get(read))?.status !== "running",
    );
    await abandon(opened);
    opened = await host(one);
    expect(await opened.engine.result(read, { ended: true })).toMatchObject({ status: "done" });
    expect(await opened.engine.result(pays)).toMatchObject({ status: "waiting", reason: "in_doubt" });
    expect(bank().filter((what) => what === "slowpay")).toEqual(["slowpay"]);
    expect(await decide(opened, pays, "approved", { result: { ref: "seen" } })).toMatchObject({
      status: "done",
      result: { paid: true, ref: "seen" },
    });
    expect(bank().filter((what) => what === "slowpay")).toEqual(["slowpay"]);
  });

  test("a person who said it did not happen is asked again if the second attempt is interrupted as well", async () => {
    await open();
    const { id } = await run(opened, "slowpay");
    await decideAndLeave(id);
    await until(async () => (await opened.engine.get(id))?.reason === "slow_call");
    await abandon(opened);
    opened = await host(one);
    await until(async () => (await opened.engine.get(id))?.reason === "in_doubt");
    const first = openCard(opened, id);
    await opened.engine.signal(id, first.gate ?? "", signed(opened, id, first.gate ?? "", "rejected"), "k");
    await until(async () => (await opened.engine.get(id))?.reason === "slow_call");
    await abandon(opened);
    opened = await host(one);
    await until(async () => (await opened.engine.get(id))?.reason === "in_doubt");
    expect(openCard(opened, id).id).not.toBe(first.id);
    expect(bank()).toEqual(["slowpay", "slowpay"]);
    expect(await decide(opened, id, "approved", { result: { ref: "seen" } })).toMatchObject({ status: "done", result: { ref: "seen" } });
    expect(bank()).toEqual(["slowpay", "slowpay"]);
    expect(opened.cards.get(first.id)?.decision).toMatchObject({ decision: "rejected", by: "Pat" });
  });

  test("a full disk when a slow call answers delays the run, it does not strand it", async () => {
    await open({ onError: () => undefined });
    const id = await start(opened, "slow");
    await until(async () => (await opened.engine.get(id))?.reason === "slow_call");
    // The next write, whichever it is, is refused once.
    const { write } = opened.database;
    opened.database.write = () => {
      opened.database.write = write;
      throw new ClearedError("STORE_FULL", "full");
    };
    await new Promise((next) => setTimeout(next, 400));
    opened.database.write = write;
    expect(await opened.engine.result(id, { ended: true, timeoutMs: 8000 })).toMatchObject({ status: "done", result: { rate: "1.2" } });
  });

  test("an outcome that arrives after the cancel is recorded and the run stays canceled", async () => {
    await open();
    const { id } = await run(opened, "slowpay");
    await decideAndLeave(id);
    await until(async () => (await opened.engine.get(id))?.reason === "slow_call");
    await opened.engine.cancel(id, "stop");
    await until(async () => (await opened.engine.steps(id)).at(-1)?.state === "ok");
    expect((await opened.engine.get(id))?.status).toBe("canceled");
    const { numbers } = await eventsOf(opened, id);
    expect(numbers).toEqual(upTo(numbers.length));
    expect((await run(opened, "quick")).status).toBe("done");
  });

  async function decideAndLeave(id: string): Promise<void> {
    const card = openCard(opened, id);
    await opened.engine.signal(id, card.gate ?? "", signed(opened, id, card.gate ?? ""), "k");
  }
});

test("a thousand waiting runs hold no slot, and each continues when notified", async () => {
  const many = await workspace();
  const looking = await host(many, { mode: "look" });
  const ids: string[] = [];
  for (let n = 0; n < 1000; n++) ids.push(await start(looking, "gate", { n }));
  const working = looking.engine.work(async (log) => log.wait("approval", "a decision", { gate: "gate_1" }), { concurrency: 2 });
  await until(async () => (await looking.engine.list({ status: ["waiting"], limit: 2000 })).length === 1000, 30_000);
  await working.stop(100);
  await close(looking);
  opened = await host(many);
  expect((await run(opened, "quick")).status).toBe("done");
  for (const id of [ids[0], ids[500], ids[999]] as string[]) {
    await opened.engine.retry(id);
    await opened.engine.result(id);
    expect((await decide(opened, id, "approved")).status).toBe("done");
  }
  expect(await opened.engine.list({ status: ["waiting"], limit: 2000 })).toHaveLength(997);
});
