/** What one caller may hold open and leave here, and what becomes of tasks that have ended long ago. */
import { type Socket, connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { upkeepNow } from "../../runtime/app/upkeep.ts";
import { createTaskStore } from "../../runtime/engine/store/tasks.ts";
import { type Tasks, tasksOf } from "../../runtime/app/tasks.ts";
import { cleared, commit, workspace } from "../cli/command-line.ts";
import { AGENTS, type Any, messageId, rpc, said, type Served, serve, skill, stream } from "./client.ts";

// Works long enough for others to come meanwhile.
const SLOW =
  "/*\nname: Slow\ntrigger: a2a\nmutates: false\ninput: {task: {type: string, required: true}}\n*/\nlet n = 0;\nfor (let i = 0; i < 5_000_000; i++) n += i;\n({ summary: String(n) });\n";

let site: Served;
beforeAll(async () => {
  site = await serve({
    "agents/slow.ts": SLOW,
    "config.yaml": "business: {name: Small}\ncallers: {open: 3, stored_mb: 1}\nweb: {port: 0}\n",
  });
});
afterAll(() => site.started.stop());

const post = async (params: unknown, token: string, path = "/"): Promise<[Response, Any]> => {
  const body = JSON.stringify(path === "/" ? { jsonrpc: "2.0", id: 7, method: "message/send", params } : params);
  const answer = await fetch(`${site.url}${path}`, { method: "POST", body, headers: { authorization: `Bearer ${token}` } });
  return [answer, await answer.json()];
};
const made = async (name: string): Promise<string> =>
  (await cleared(site.dir, "tokens", "add", name, "--agents", "echo,pay,slow", "--json")).json().token;

/** What is told to who comes too often, however soon that is. */
const until429 = async (send: () => Promise<[Response, Any]>): Promise<Any> => {
  for (;;) {
    const [answer, told] = await send();
    if (answer.status === 429) return told;
  }
};

test("streams and waiting messages beyond a caller's limit are refused with Retry-After and start nothing", async () => {
  const [token, other] = [await made("busy"), await made("calm")];
  const { id } = (await rpc(site, "message/send", { message: said("BILL-1", skill("pay")) }, { token })).result;
  const cut = new AbortController();
  const streams = Array.from({ length: 3 }, () => stream(site, "tasks/resubscribe", { id }, { token, signal: cut.signal }));
  for (const one of streams) await one.next();
  const { error } = await rpc(site, "tasks/resubscribe", { id }, { token });
  expect(error).toMatchObject({ code: -32029, message: expect.stringMatching(/3 of them yours, of 3/) });
  const [rest, told] = await post({}, token, `/tasks/${id}:subscribe`);
  expect([rest.status, rest.headers.get("retry-after"), told.error.status]).toEqual([429, "5", "RESOURCE_EXHAUSTED"]);
  // What answers at once needs no room, and another caller has its own.
  expect((await rpc(site, "tasks/get", { id }, { token })).result.id).toBe(id);
  const many = (of: string) => Promise.all(Array.from({ length: 30 }, () => post({ message: said("x", skill("slow")) }, of)));
  const answers = await many(token);
  const taken = answers.filter(([{ status }]) => status === 200);
  expect(taken.length).toBeGreaterThan(2);
  expect(answers.filter(([{ status }]) => status === 429)).toHaveLength(30 - taken.length);
  expect(taken.length).toBeLessThan(30);
  expect((await rpc(site, "ListTasks", {}, { version: "1.0", token })).result.totalSize).toBe(1 + taken.length);
  expect((await post({ message: said("x", skill("echo")) }, other))[1].result.status.state).toBe("completed");
  cut.abort();
  await expect.poll(() => stream(site, "tasks/resubscribe", { id }, { token }).next()).toMatchObject({ value: { id } });
});

test("at the limit for all callers together, a caller without open requests is told so", async () => {
  const headers = (token: string) => `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Length: 9000000`;
  const sockets: Socket[] = [];
  for (const name of ["first", "second", "third", "fourth"]) {
    const token = await made(name);
    for (let i = 0; i < 4; i++) sockets.push(connect(Number(new URL(site.url).port), "127.0.0.1"));
    for (const one of sockets.slice(-4)) one.on("error", () => undefined).write(`POST / HTTP/1.1\r\n${headers(token)}\r\n\r\n`);
  }
  const token = await made("fifth");
  const body = { message: said("x ".repeat(1_000_000), skill("echo")) };
  const told = await until429(() => post(body, token));
  expect(told.error.message).toMatch(/^All callers together have 16 .*; 0 large messages of them are yours\. Send it again later\.$/);
  for (const one of sockets) one.destroy();
});

test("a caller who has used up the storage limit is told so; a repeated message is still one task", async () => {
  const [token, other] = [await made("large"), await made("small")];
  const message = said("x ".repeat(100_000), skill("pay"));
  const [, { result }] = await post({ message }, token);
  expect(result.status.state).toBe("input-required");
  // Kept as it came, and as what is known so far.
  for (let i = 0; i < 2; i++) await post({ message: said(`${i} `.repeat(100_000), skill("pay")) }, token);
  const [refused, { error }] = await post({ message: said("x", skill("echo")) }, token);
  expect([refused.status, refused.headers.get("retry-after"), error.message]).toEqual([
    429,
    "3600",
    expect.stringMatching(/1 MB .* 90 days/),
  ]);
  expect((await post({ message }, token))[1].result.id).toBe(result.id);
  expect((await post({ message: said("x", skill("echo")) }, other))[0].status).toBe(200);
});

const DAY_MS = 86_400_000;

type Inside = Awaited<ReturnType<typeof inside>>;

/** Two days of `keep_days`, and a clock that can be put forward. */
async function inside() {
  const dir = await workspace();
  await commit(dir, { ...AGENTS, "config.yaml": "business: {name: Old}\ncallers: {keep_days: 2, stored_mb: 1}\n" });
  let ahead = 0;
  const host: Host = await openHost(dir, {
    mode: "owner",
    onError: (error) => void console.error(error),
    clock: { now: () => Date.now() + ahead },
  });
  const tasks: Tasks = tasksOf(host);
  const me = tasks.caller(null, () => true);
  return {
    ...{ host, tasks, me },
    send: (text: string, name: string, more: Any = {}) =>
      tasks.send(me, { message: { id: messageId(), parts: [{ text }], metadata: { skill: name } }, metadata: {}, ...more }),
    ends: async (id: string) => (await Array.fromAsync(tasks.changes(me, id, 0, AbortSignal.timeout(60_000)))).at(-1)?.view.status.state,
    /** So many days, of which each one counts. */
    async pass(...days: number[]) {
      for (const day of days) {
        ahead = day * DAY_MS;
        await upkeepNow(host);
      }
    },
  };
}

async function within(test: (at: Inside) => Promise<void>): Promise<void> {
  const at = await inside();
  await test(at).finally(() => at.host.close());
}

test("a long ended task is removed: its run stays, and its message starts nothing again", async () => {
  await within(async ({ host, tasks, me, send, ends, pass }) => {
    const key = { message: { id: messageId(), parts: [{ text: "one" }], metadata: { skill: "echo" } }, metadata: {}, context: "c1" };
    const old = await tasks.send(me, key);
    expect(await ends(old.id)).toBe("completed");
    const told = await send("two", "echo");
    expect(await ends(told.id)).toBe("completed");
    // Somebody was to be told of it and does not answer: it is kept until they are.
    tasks.pushes.set(tasks.row(me, told.id), "1.0", { id: "p", url: "http://127.0.0.1:9/", token: null, authentication: null }, 0);
    const waits = await send("BILL-1", "pay", { context: "c2" });
    const beside = await send("three", "echo", { context: "c2" });
    expect(await ends(beside.id)).toBe("completed");
    await pass(0, 1, 3);
    await expect(tasks.get(me, old.id)).rejects.toMatchObject({ code: "TASK_UNKNOWN" });
    await expect(tasks.send(me, key)).rejects.toMatchObject({ code: "TASK_UNKNOWN", message: expect.stringContaining(old.id) });
    expect((await host.engine.list({ agent: "echo" })).map((run) => run.status)).toEqual(["done", "done", "done"]);
    expect((await host.engine.get(old.run as string))?.result).toMatchObject({ summary: "said one" });
    for (const kept of [told, waits, beside]) expect((await tasks.get(me, kept.id)).history).toHaveLength(kept === waits ? 2 : 1);
    expect((await tasks.list(me, { limit: 50 }, ({ id }) => id)).tasks.toSorted()).toEqual([told.id, waits.id, beside.id].toSorted());
    // A new task under the same name of a session is one of its own.
    expect((await send("again", "echo", { context: "c1" })).id).not.toBe(old.id);
    // One that goes while its caller reads the list is left out.
    const store = createTaskStore(host.database);
    for (const one of ["four", "five"]) expect(await ends((await send(one, "echo")).id)).toBe("completed");
    const gone = () => store.removeEnded(Date.now() + 9 * DAY_MS, Date.now(), 50);
    expect((await tasks.list(me, { limit: 50, state: "completed" }, gone)).tasks.length).toBeGreaterThan(0);
  });
});

test("a question that its caller does not answer ends the task with the reason, on streams and push addresses too", async () => {
  await within(async ({ host, tasks, me, send, pass }) => {
    const question = { message: { id: messageId(), parts: [{ text: "which" }], metadata: { skill: "pay" } }, metadata: {} };
    const asked = await tasks.send(me, question);
    const card = await send("BILL-1", "pay");
    tasks.pushes.set(tasks.row(me, asked.id), "1.0", { id: "p", url: "http://127.0.0.1:9/", token: null, authentication: null }, 1);
    const followed = Array.fromAsync(tasks.changes(me, asked.id, asked.generation, AbortSignal.timeout(60_000)));
    await pass(0, 1.5);
    const later = await send("which one", "pay");
    await pass(3);
    const { status } = await tasks.get(me, asked.id);
    expect(status).toMatchObject({ state: "rejected", message: { parts: [{ text: expect.stringMatching(/within 2 days.* new id/) }] } });
    expect((await followed).map(({ view }) => view.status)).toEqual([status]);
    const told = await Array.fromAsync(tasks.pushes.changes(tasks.pushes.due()[0]!));
    expect(told.at(-1)?.view.status).toEqual(status);
    // A person's card waits on, and so does what was asked since; the message is still known.
    expect((await tasks.get(me, card.id)).status.state).toBe("auth-required");
    expect((await tasks.get(me, later.id)).status.state).toBe("input-required");
    expect((await tasks.send(me, question)).id).toBe(asked.id);
    await expect(send("BILL-2", "pay", { task: asked.id })).rejects.toMatchObject({ code: "TASK_STATUS" });
    tasks.pushes.delete(tasks.row(me, asked.id), "p");
    await pass(6);
    await expect(tasks.get(me, asked.id)).rejects.toMatchObject({ code: "TASK_UNKNOWN" });
    await expect(tasks.send(me, question)).rejects.toMatchObject({ code: "TASK_UNKNOWN", message: expect.stringContaining(asked.id) });
    const { removed } = host.database.get("SELECT removed FROM tasks WHERE id = ?", asked.id) as { removed: number };
    expect(removed).toBeGreaterThan(Date.now() + 5 * DAY_MS);
  });
});

test("with answers and a cancel at once, no run continues that the task does not report", async () => {
  await within(async ({ host, tasks, me, send }) => {
    const asked = await send("which", "pay", { alias: "mine" });
    await Promise.allSettled([send("BILL-1", "pay", { alias: "mine" }), send("BILL-2", "pay", { task: asked.id })]);
    expect(await host.engine.list({ agent: "pay" })).toHaveLength(1);
    const other = await send("which", "pay", { alias: "other" });
    await Promise.allSettled([send("BILL-3", "pay", { alias: "other" }), tasks.cancel(me, other.id)]);
    expect((await tasks.get(me, other.id)).status.state).toBe("canceled");
    const runs = await host.engine.list({ agent: "pay" });
    expect(runs.filter(({ status }) => status !== "canceled")).toHaveLength(1);
  });
});

test("a task waiting for a person is found, however many later tasks of its session came to nothing", async () => {
  await within(async ({ host, tasks, me, send }) => {
    const waits = await send("BILL-1", "pay", { context: "c" });
    await host.engine.result(waits.run ?? "");
    for (let i = 0; i < 50; i++) await tasks.cancel(me, (await send("", "echo", { context: "c" })).id);
    expect((await send("BILL-1", "pay", { context: "c" })).id).toBe(waits.id);
    expect(await host.engine.list({ agent: "pay" })).toHaveLength(1);
  });
});

test("data that the disk did not store does not count as stored", async () => {
  await within(async ({ host, send }) => {
    const { db } = host.database;
    const asked = await send("which", "pay");
    const pages = (db.prepare("PRAGMA page_count").get() as { page_count: number }).page_count;
    // The words are taken, and what is known with them is not.
    db.exec(`PRAGMA max_page_count = ${pages + 60}`);
    for (let i = 0; i < 6; i++)
      await expect(send("x ".repeat(100_000), "pay", { task: asked.id })).rejects.toMatchObject({ code: "STORE_FULL" });
    db.exec("PRAGMA max_page_count = 1000000");
    expect((await send("BILL-1", "pay", { task: asked.id })).run).not.toBeNull();
  });
});
