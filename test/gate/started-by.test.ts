/** A card says who gave the run to be done: a person, the owner of a task, another agent and who asked that one. */
import { randomUUID } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { serveApi, withApi } from "../../runtime/app/connect.ts";
import type { Host } from "../../runtime/app/host.ts";
import { signRequest } from "../../runtime/app/identity.ts";
import { forkRun } from "../../runtime/app/move-run.ts";
import { connectSocket } from "../../runtime/app/socket.ts";
import { tasksOf } from "../../runtime/app/tasks.ts";
import type { Card, Cause, Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { NOBODY } from "../../runtime/kernel/text.ts";
import { shell } from "../cli/command-line.ts";
import { placeFile } from "../../runtime/workspace/own-folders.ts";
import { begin, ended, keysOf, made, say, SIMPLE, TEAM, trustWith } from "../engine/gates.ts";
import { close, closeAll, decide, host, openCard, removeAll } from "../engine/harness.ts";
import { header, shop, STATES } from "./shop.ts";

const asks = (title: string, call: string, uses = ""): string => `${header(`fsm, mcp, policy, approval${uses}`, STATES)}fsm_enter("ASSESS");
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "pay", facts: { amount: "500.00", kind: "x" } });
fsm_enter("APPROVAL_GATE");
approval_wait({ title: "${title}", calls: [${call}] });
fsm_enter("MUTATE");
`;
const FILES = {
  "agents/pays.ts": `${asks("Pay?", `{ tool: "shop/pay_blind", params: { invoice_id: "I-1" } }`)}1;`,
  "agents/hands.ts": `${asks("Hand it over?", `{ tool: "agent_call", params: { agent: "pays" } }`, ", agent:pays")}agent_call({ agent: "pays" });`,
  "agents/again.ts": `${header("schedule, approval", "input: {n: {type: integer, default: 0}}\n")}schedule_run({ agent: "again", at: "2026-01-01T09:00:00Z", input: { n: input.n + 1 }, key: String(input.n) });
approval_wait({ title: "Go on?", calls: [] });
1;`,
};

let opened: Host;
beforeAll(async () => {
  opened = await host(await shop(FILES));
});
afterAll(async () => {
  await closeAll();
  await removeAll();
});

async function start(cause: Cause, agent = "pays", by?: string): Promise<string> {
  const { id } = await opened.start(agent, { cause, input: {}, ...(by === undefined ? {} : { by }) });
  await opened.engine.result(id, { timeoutMs: 100_000 });
  return id;
}

test.each<[string, Cause, string | undefined, string]>([
  ["a person", { kind: "command", key: "1" }, "Ann", "Ann"],
  [
    "the owner of a task",
    { kind: "a2a", key: "2", detail: { owner: "billing-bot", task: "t", context: "c" } },
    undefined,
    "a task of billing-bot",
  ],
  [
    "the maker of a token",
    { kind: "a2a", key: "7", detail: { owner: "billing-bot" } },
    "Ann",
    "a task of billing-bot, whose token Ann made",
  ],
  ["a chat client of a person", { kind: "mcp", key: "3", detail: { owner: "LOCAL" } }, "Ann", "Ann, by a chat client"],
  ["a schedule", { kind: "schedule", key: "4", detail: { tick: "x" } }, undefined, "the schedule"],
])("%s", async (_, cause, by, says) => {
  expect(openCard(opened, await start(cause, "pays", by)).started_by).toBe(says);
});

test("another agent, and who asked that one", async () => {
  const parent = await start({ kind: "a2a", key: "5", detail: { owner: "billing-bot" } }, "hands");
  expect(await decide(opened, parent, "approved")).toMatchObject({ status: "waiting", reason: "child" });
  const child = (await opened.engine.list({ agent: "pays" })).find((one) => one.parent === parent);
  await opened.engine.result(child!.id, { timeoutMs: 100_000 });
  expect(openCard(opened, child!.id).started_by).toBe("the agent hands; asked by a task of billing-bot");
});

test("a run that schedules its next one shows who started the first, however often it repeats", async () => {
  for (let round = 1, run = await start({ kind: "command", key: "6" }, "again", "Ann"); round <= 3; round++) {
    const next = (await opened.engine.list({ agent: "again" })).find(
      ({ cause }) => (cause.detail as { by?: string } | undefined)?.by === run,
    );
    await opened.engine.result(next!.id, { timeoutMs: 100_000 });
    run = next!.id;
    const asked = round === 1 ? "Ann" : "other runs, the first of them by Ann";
    expect(openCard(opened, run).started_by).toBe(`the agent again, by the schedule; asked by ${asked}`);
  }
});

test("whoever copies a run is the starter of the copy", async () => {
  const { opened } = await made(TEAM);
  const { id } = await begin(opened, "simple", { params: { to: "A", amount: "5.00" } }, "Ann");
  const { run } = await forkRun(opened, { run: id, by: "Bob", reason: "test", at: 0, head: false });
  await opened.engine.result(run, { timeoutMs: 100_000 });
  await expect(say("Bob", opened, run)).rejects.toMatchObject({ code: "APPROVAL_SELF" });
  await say("Bob", opened, id);
});

const OPEN = SIMPLE.replace("name: Simple", "name: Open\ntrigger: [a2a, event]\non_event: asked");

test("who makes a token does not approve alone what it starts: neither as its maker, nor where a record was changed or its maker is not known", async () => {
  const { one, opened } = await made(TEAM);
  one.commit({ "agents/open.ts": OPEN });
  const tasks = tasksOf(opened);
  const card = async (token: string): Promise<Card> => {
    const message = { id: randomUUID(), parts: [{ data: { params: { to: "A", amount: "5.00" } } }], metadata: { skill: "open" } };
    const task = await tasks.send(
      tasks.caller(token, () => false),
      { message, metadata: {} },
    );
    await opened.engine.result(
      tasks.row(
        tasks.caller(token, () => false),
        task.id,
      ).run ?? "",
      { timeoutMs: 100_000 },
    );
    return opened.cards.list({ open: true }).at(-1) as Card;
  };
  one.write(".cleared/ann.pem", keysOf("Ann").pem);
  chmodSync(`${one.dir}/.cleared/ann.pem`, 0o600);
  const add = async (name: string, key: string): Promise<string> => {
    const { stdout } = await shell(one.dir, `CLEARED_KEY=${key} cleared tokens add ${name} --agents open --json`);
    return (JSON.parse(stdout) as { token: string }).token;
  };
  const own = await card(await add("shop", `${one.dir}/.cleared/ann.pem`));
  expect(own).toMatchObject({ not_by: "Ann", started_by: "a task of shop, whose token Ann made" });
  await expect(say("Ann", opened, own.run ?? "")).rejects.toMatchObject({
    code: "APPROVAL_SELF",
    message: expect.stringContaining("a task of shop, whose token Ann made"),
  });
  await say("Bob", opened, own.run ?? "");
  expect(await card(await add("unknown", "/nonexistent"))).toMatchObject({ approvals: 2 });
  // Ann gives her own token to somebody else.
  const token = await add("changed", `${one.dir}/.cleared/ann.pem`);
  const file = placeFile("tokens", one.dir);
  const kept = JSON.parse(readFileSync(file, "utf8")) as { tokens: { name: string }[] };
  writeFileSync(file, JSON.stringify({ ...kept, tokens: kept.tokens.map((one) => ({ ...one, agents: ["open", "simple"] })) }));
  expect(await card(token)).toMatchObject({ approvals: 2 });
});

test("what anybody could have started from outside is decided by two people where the policy asks for another one, and by one elsewhere", async () => {
  const { opened } = await made(TEAM);
  const OTHER = { kind: "other" };
  const causes: Cause[] = [
    { kind: "watch", key: "a", detail: { files: ["x.csv"] } },
    { kind: "webhook", key: "b", detail: { webhook: "shop" } },
    { kind: "a2a", key: "c", detail: { owner: "ANYBODY" } },
  ];
  const cards = async (cause: Cause, input: object): Promise<Card> => {
    const { id } = await opened.start("asks", { cause, input: input as Json });
    await opened.engine.result(id, { timeoutMs: 100_000 });
    return openCard(opened, id);
  };
  for (const cause of causes) {
    const plain = await cards({ ...cause, key: `${cause.key} plain` }, {});
    expect(plain).not.toHaveProperty("approvals");
    const { run } = await cards(cause, OTHER);
    await say("Ann", opened, run ?? "");
    expect(await opened.engine.result(run ?? "", { timeoutMs: 9000 })).toMatchObject({ status: "waiting" });
    // Also behind an event.
    expect(await cards({ kind: "event", key: cause.key, detail: { run } }, OTHER)).toMatchObject({ approvals: 2 });
    await say("Bob", opened, run ?? "");
    expect(await ended(opened, run ?? "")).toMatchObject({ outcome: "completed", result: { by: "Ann, Bob" } });
  }
  // Whoever gives a file of the folder once more has not shown whose it is.
  const { id } = await opened.start("asks", {
    cause: { kind: "watch", key: "again", detail: { files: ["x.csv"] } },
    input: OTHER,
    by: "Cid",
  });
  await opened.engine.result(id, { timeoutMs: 100_000 });
  expect(openCard(opened, id)).toMatchObject({ approvals: 2 });
  expect(await cards({ kind: "schedule", key: "d", detail: { tick: "x" } }, OTHER)).not.toHaveProperty("approvals");
});

test("over the owner's socket a run is by the person named only with their signature of just that request on that connection", async () => {
  const { one, opened: owner } = await made(TEAM);
  const served = await serveApi(owner, createApi(owner));
  const asked = { agent: "simple", input: { params: { to: "A", amount: "5.00" } }, by: "Bob", wait: true };
  const startedBy = async (sign?: Parameters<typeof connectSocket>[1], params: object = asked) => {
    const connection = await connectSocket(one.dir, sign);
    const run = (await connection?.call("run", params)) as RunRecord;
    connection?.close();
    return run.by;
  };
  try {
    one.write(".cleared/bob.pem", keysOf("Bob").pem);
    chmodSync(`${one.dir}/.cleared/bob.pem`, 0o600);
    vi.stubEnv("CLEARED_KEY", `${one.dir}/.cleared/bob.pem`);
    expect(await withApi(one.dir, async (api) => (await api.run(asked)).by)).toBe("Bob");
    let proof: string | undefined;
    expect(await startedBy((...request) => (proof ??= signRequest(one.dir, ...request)))).toBe("Bob");
    expect(proof).toBeDefined();
    expect(await startedBy(() => proof)).toBe(NOBODY);
    expect(await startedBy()).toBe(NOBODY);
    expect(await startedBy((method, _, challenge) => signRequest(one.dir, method, { ...asked, wait: false }, challenge))).toBe(NOBODY);
    // The key of somebody else.
    expect(await startedBy((...request) => signRequest(one.dir, ...request), { ...asked, by: "Ann" })).toBe(NOBODY);
    expect(await startedBy(undefined, { ...asked, by: undefined })).toBe(NOBODY);
    await expect(startedBy(undefined, { ...asked, by: "Mallory" })).rejects.toMatchObject({ code: "APPROVAL_IDENTITY" });
  } finally {
    vi.unstubAllEnvs();
    await served.close();
  }
});

test("a starter whose name is no longer in trust.yaml may be anybody there, so two people agree", async () => {
  const { one, opened } = await made(TEAM);
  const { id } = await begin(opened, "asks", {}, "Ann");
  await close(opened);
  trustWith(one, { Anna: { roles: ["manager"] }, Bob: { roles: ["director"] } });
  const renamed = await host(one);
  await say("Anna", renamed, id);
  expect(await renamed.engine.result(id, { timeoutMs: 9000 })).toMatchObject({ status: "waiting" });
  await say("Bob", renamed, id);
  expect(await ended(renamed, id)).toMatchObject({ outcome: "completed", result: { by: "Anna, Bob" } });
});
