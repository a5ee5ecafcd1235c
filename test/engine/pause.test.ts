/**
 * A pause holds from the moment it is written, whoever owns the workspace: nothing of the agent starts, acts outside or commits. What was sent
 * already is recorded, what was decided is kept, and after the pause everything happens exactly once.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { pauseAgents, resumeAgents } from "../../runtime/app/pause.ts";
import type { Host } from "../../runtime/app/host.ts";
import { pauseOf } from "../../runtime/engine/store/pauses.ts";
import { openAlerts } from "../../runtime/outside/notices/alerts.ts";
import { deliverEvents } from "../../runtime/outside/triggers/events.ts";
import { type Planned, startDue } from "../../runtime/outside/triggers/cron.ts";
import { abandon, close, closeAll, decide, host, openCard, removeAll, run, start, withStore, workspace } from "./harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const header = (uses: string, more = "") => `/*\nname: Test\ndescription: test\nuses: [${uses}]\n${more}*/\n`;
/** Two acts outside, the first slow enough to be paused while it is under way. */
const TWICE = `${header("approval, bank")}
const one = { to: "A", amount: "1" };
const two = { to: "B", amount: "2" };
approval_wait({ title: "Pay both?", calls: [{ tool: "bank_slowpay", params: one }, { tool: "bank_pay", params: two }] });
const first = bank_slowpay(one);
const second = bank_pay(two);
({ first: first.ref, second: second.ref });
`;
const LOOKS = `${header("ctx", "mutates: false\n")}({ day: ctx_today() });\n`;
const CALLER = `${header("fsm, agent:looks", "states: [ASSESS]\n")}fsm_enter("ASSESS");
const child = agent_call({ agent: "looks" });
({ child: child.status });
`;
const LISTENER = header("ctx", "trigger: event\non_event: booked\n");

const by = "Pat";
const pause = (opened: Host, agent: string | null = null, reason = "") => pauseAgents(opened, { agent, by, reason });
const resume = (opened: Host, agent: string | null = null) => resumeAgents(opened, { agent, by });
const rest = (opened: Host, id: string) => opened.engine.result(id, { timeoutMs: 100_000 });
const until = async (met: () => boolean | Promise<boolean>) => {
  for (let n = 0; !(await met()); n++) {
    if (n > 1000) throw new Error("not in time");
    await new Promise((retry) => setTimeout(retry, 10));
  }
};

test("a pause between two acts outside: the first is recorded, the second happens only after resume, exactly once", async () => {
  const one = await workspace({ "agents/twice.ts": TWICE });
  const opened = await host(one);
  const { id } = await run(opened, "twice");
  const going = decide(opened, id, "approved");
  await until(() => one.bank().length === 1);
  await pause(opened, "twice", "the bank called");
  await going;
  const held = await rest(opened, id);
  expect(held).toMatchObject({ status: "waiting", reason: "paused" });
  expect(held.waitsFor).toMatch(/^twice is paused by Pat since .* \(the bank called\); `cleared resume twice` continues it$/);
  expect((await opened.engine.steps(id)).find((step) => step.name === "bank_slowpay")?.state).toBe("ok");
  // Neither asking again nor another process changes that.
  await opened.engine.retry(id);
  expect(await rest(opened, id)).toMatchObject({ status: "waiting", reason: "paused" });
  await abandon(opened);
  const next = await host(one);
  expect(await rest(next, id)).toMatchObject({ status: "waiting", reason: "paused" });
  expect(one.bank()).toEqual(["slowpay"]);
  expect(await resume(next, "twice")).toMatchObject({ ended: [{ agent: "twice", reason: "the bank called" }], runs: [id], still: [] });
  expect(await rest(next, id)).toMatchObject({ status: "done", outcome: "completed" });
  expect(one.bank()).toEqual(["slowpay", "pay"]);
});

test("a pause written by another process stops the owner at once, without asking it", async () => {
  const one = await workspace();
  const opened = await host(one);
  const { id } = await run(opened, "pay");
  const other = await host(one, { mode: "look" });
  expect(await pause(other, "pay", "from outside")).toMatchObject({ known: false, underWay: 0 });
  expect(await decide(opened, id, "approved")).toMatchObject({ status: "waiting", reason: "paused" });
  expect(one.bank()).toEqual([]);
  await resume(opened, "pay");
  expect(await rest(opened, id)).toMatchObject({ status: "done" });
});

test("a run does not commit while paused, and an approval given meanwhile is kept", async () => {
  const one = await workspace();
  const opened = await host(one);
  const { id } = await run(opened, "pay");
  const before = one.git("rev-parse", "HEAD");
  await pause(opened);
  expect(await decide(opened, id, "approved")).toMatchObject({ status: "waiting", reason: "paused" });
  expect(opened.cards.list({ run: id })[0]?.decision).toMatchObject({ decision: "approved", by: "Pat" });
  expect([one.bank(), one.git("rev-parse", "HEAD")]).toEqual([[], before]);
  const committing = await start(opened, "quick").catch((error: unknown) => error);
  expect(committing).toMatchObject({ code: "RUN_PAUSED", message: expect.stringMatching(/^Every agent is paused by Pat/) });
  await resume(opened);
  expect(await rest(opened, id)).toMatchObject({ status: "done", result: { paid: true } });
  expect(one.bank()).toEqual(["pay"]);
});

test("a run paused before its own commit writes nothing, and makes one commit after resume", async () => {
  const one = await workspace({
    "agents/late.ts": `${header("bank, journal, git")}
bank_slow(600);
journal_add_double({ date: "2026-11-06", description: "late", debit_account: 5030, credit_account: 1010, amount: "7.00", key: "late" });
git_commit("import: late");
1;
`,
  });
  const opened = await host(one);
  const id = await start(opened, "late");
  await until(() => one.bank().length === 1);
  await pause(opened, "late");
  expect(await rest(opened, id)).toMatchObject({ status: "waiting", reason: "paused" });
  expect(one.git("log", "--format=%s")).not.toContain("import: late");
  expect(one.git("status", "--porcelain")).toBe("");
  await resume(opened, "late");
  expect(await rest(opened, id)).toMatchObject({ status: "done" });
  expect(one.git("log", "--format=%s").match(/import: late/g)).toHaveLength(1);
});

test("manual starts are refused, dry runs work; other agents continue; a child waits for its own pause and then wakes its caller", async () => {
  const opened = await host(await workspace({ "agents/caller.ts": CALLER, "agents/looks.ts": LOOKS }));
  await pause(opened, "looks");
  await expect(start(opened, "looks")).rejects.toMatchObject({ code: "RUN_PAUSED" });
  const dry = await opened.start("looks", { cause: { kind: "command", key: "dry" }, input: {}, mode: "dry" });
  expect(await rest(opened, dry.id)).toMatchObject({ status: "done" });
  const caller = await run(opened, "caller");
  expect(caller).toMatchObject({ status: "waiting", reason: "child" });
  expect(await opened.engine.list({ agent: "looks", reason: "paused" })).toMatchObject([{ parent: caller.id }]);
  await resume(opened, "looks");
  expect(await opened.engine.result(caller.id, { ended: true, timeoutMs: 100_000 })).toMatchObject({
    status: "done",
    result: { child: "done" },
  });
});

test("a pause of all agents covers those not paused on their own; resuming all ends both and says whose they were", async () => {
  const opened = await host(await workspace());
  expect(await pause(opened, "quick", "first")).toMatchObject({ known: false });
  expect(await pauseAgents(opened, { agent: "quick", by: null, reason: "second" })).toMatchObject({
    known: true,
    pause: { reason: "first", by },
  });
  await pause(opened);
  expect([pauseOf(opened.database, "quick")?.agent, pauseOf(opened.database, "gate")?.agent]).toEqual(["quick", null]);
  await expect(resume(opened, "gate")).rejects.toMatchObject({
    code: "RUN_PAUSED",
    message: expect.stringMatching(/not paused individually/),
  });
  await expect(pause(opened, "quikc")).rejects.toMatchObject({ code: "AGENT_UNKNOWN", message: expect.stringMatching(/quick/) });
  expect(openAlerts(opened.database, Date.now())).toHaveLength(2);
  expect((await resume(opened, "quick")).still).toMatchObject([{ agent: null }]);
  await expect(start(opened, "quick")).rejects.toMatchObject({ code: "RUN_PAUSED" });
  expect((await resume(opened)).ended).toMatchObject([{ agent: null }]);
  expect(openAlerts(opened.database, Date.now())).toEqual([]);
  expect(await resume(opened)).toEqual({ ended: [], runs: [], still: [] });
  // Who paused and who resumed stays in the store.
  expect(opened.database.all("SELECT agent, by, reason, ended_by FROM pauses ORDER BY id")).toEqual([
    { agent: "quick", by, reason: "first", ended_by: by },
    { agent: null, by, reason: "", ended_by: by },
  ]);
});

test("fifty runs waiting at gates are decided while paused, and all continue once, with an event naming who resumed them", async () => {
  const opened = await host(await workspace());
  const ids = await Promise.all(Array.from({ length: 50 }, (_, n) => start(opened, "gate", { n })));
  for (const id of ids) await rest(opened, id);
  await pause(opened, "gate", "month end");
  for (const id of ids) {
    const card = openCard(opened, id);
    expect(card.decision).toBeNull();
    expect(await decide(opened, id, "approved")).toMatchObject({ status: "waiting", reason: "paused" });
  }
  expect((await resume(opened, "gate")).runs.toSorted()).toEqual(ids.toSorted());
  for (const id of ids) expect(await opened.engine.result(id, { ended: true, timeoutMs: 100_000 })).toMatchObject({ status: "done" });
  const told: unknown[] = [];
  for await (const event of opened.engine.events(ids[0] ?? "", 1)) if (event.type === "status") told.push(event.body);
  expect(told).toContainEqual(expect.objectContaining({ reason: "paused", waits_for: expect.stringMatching(/by Pat .*month end/) }));
  expect(told).toContainEqual({ status: "queued", from: "resumed by Pat" });
});

test("an event stays in the outbox only for the paused listener, and reaches no other twice", async () => {
  const one = await workspace({ "agents/hears.ts": `${LISTENER}1;\n`, "agents/other.ts": `${LISTENER}2;\n` });
  const opened = await host(one);
  await pause(opened, "hears");
  expect(await run(opened, "book")).toMatchObject({ status: "done" });
  const served = new Set<string>();
  const ports = { ...opened, cause: async () => null, note: () => undefined };
  expect([await deliverEvents(ports, served), await deliverEvents(ports, served)]).toEqual([true, false]);
  expect(opened.emitted()).toHaveLength(1);
  const count = async (agent: string) => (await opened.engine.list({ agent })).length;
  expect([await count("hears"), await count("other")]).toEqual([0, 1]);
  await resume(opened, "hears");
  expect(await deliverEvents(ports)).toBe(true);
  expect([await count("hears"), await count("other"), opened.emitted().length]).toEqual([1, 1, 0]);
});

test.each<[Planned["missed"], number]>([
  ["run-once", 1],
  ["run-all", 3],
  ["skip", 0],
])("ticks of a paused agent count as missed afterwards: %s", async (missed, runs) => {
  const opened = await host(await workspace());
  let now = Date.parse("2026-11-20T12:00:00Z");
  const ports = { database: opened.database, now: () => now, start: opened.start, note: () => undefined };
  const planned: Planned = { agent: "quick", expression: "0 6 * * *", timezone: "UTC", missed };
  await startDue(ports, planned);
  await pause(opened, "quick");
  for (let days = 1; days <= 3; days++) {
    now += 86_400_000;
    await startDue(ports, planned);
  }
  expect(await opened.engine.list({ agent: "quick" })).toEqual([]);
  expect(openAlerts(opened.database, now)).toEqual([expect.stringMatching(/^quick is paused by Pat/)]);
  await resume(opened, "quick");
  await startDue(ports, planned);
  expect(await opened.engine.list({ agent: "quick" })).toHaveLength(runs);
});

test("killed at any moment of pausing and resuming, a run is paused or continues, and pays once", async () => {
  const module = JSON.stringify(join(import.meta.dirname, "../../runtime/engine/store/pauses.ts"));
  const database = JSON.stringify(join(import.meta.dirname, "../../runtime/engine/store/database.ts"));
  const one = await workspace();
  const opened = await host(one);
  const { id } = await run(opened, "pay");
  await close(opened);
  // Pauses and resumes without end, until it is killed.
  const script = `import { Database } from ${database}; import { beginPause, endPauses } from ${module};
    const store = new Database(process.argv[1]);
    for (console.log("on"); ; ) { beginPause(store, { agent: "pay", by: "Pat", reason: "x", at: 1 }); endPauses(store, "pay", "Pat", 2); }`;
  for (let round = 0; round < 6; round++) {
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, join(one.dir, ".cleared/store.db")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((ready) => child.stdout.once("data", ready));
    await new Promise((later) => setTimeout(later, 7 * round));
    child.kill("SIGKILL");
    await new Promise((gone) => child.once("close", gone));
    const open = withStore(one.dir, (db) => db.prepare("SELECT count(*) AS n FROM pauses WHERE ended_at IS NULL").get()) as { n: number };
    expect(open.n).toBeLessThanOrEqual(1);
  }
  const next = await host(one);
  await pause(next, "pay");
  expect(await decide(next, id, "approved")).toMatchObject({ status: "waiting", reason: "paused" });
  await resume(next, "pay");
  expect(await rest(next, id)).toMatchObject({ status: "done" });
  expect(one.bank()).toEqual(["pay"]);
});
