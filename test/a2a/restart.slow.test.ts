/** Kill -9 while a task is asked about, waits for a person, or is at work: whoever asks again finds the same task, and one run of it. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleared, commit } from "../cli/command-line.ts";
import { type Any, type Served, again, rpc, said, said1, serve, skill, stream } from "./client.ts";

const SLOW = `/*
name: Slow
trigger: a2a
mutates: false
uses: [ctx]
*/
let sum = 0;
for (let i = 0; i < 3000; i++) sum += String(ctx_today()).length;
({ summary: "counted " + sum });
`;

let site: Served;
beforeEach(async () => {
  site = await serve();
});
afterEach(() => site.started.stop("SIGKILL"));

const V1 = { version: "1.0" };
const killed = async (): Promise<void> => {
  await site.started.stop("SIGKILL");
  site = await again(site.dir);
};
const get = async (id: string): Promise<Any> => (await rpc(site, "GetTask", { id }, V1)).result;
const runsOf = async (agent: string): Promise<Any[]> => (await cleared(site.dir, "runs", "list", "--agent", agent, "--json")).json();

test("a task in conversation, then waiting for a person, is unchanged by each kill, and its numbering continues", async () => {
  const asked = (await rpc(site, "SendMessage", { message: said1("pay", skill("pay")) }, V1)).result.task;
  await killed();
  expect(await get(asked.id)).toEqual(asked);
  const answer = { message: said1("BILL-7 of May", { taskId: asked.id }) };
  const waits = (await rpc(site, "SendMessage", answer, V1)).result.task;
  expect(waits.status.state).toBe("TASK_STATE_AUTH_REQUIRED");
  await killed();
  expect(await get(asked.id)).toEqual(waits);
  // Its caller heard nothing of the answer and sends it again.
  expect((await rpc(site, "SendMessage", answer, V1)).result.task).toEqual(waits);
  const follower = Array.fromAsync(stream(site, "SubscribeToTask", { id: asked.id }, V1));
  await cleared(site.dir, "approve", String(waits.status.message.parts[1].data.reviewId));
  const events = await follower;
  const numbers = events.map((one) => (one.task ?? one.statusUpdate ?? one.artifactUpdate).metadata.generation);
  expect(numbers).toEqual(numbers.map((_, i) => numbers[0] + i));
  const done = await get(asked.id);
  expect(done).toMatchObject({ status: { state: "TASK_STATE_COMPLETED" }, artifacts: [{}], metadata: { generation: numbers.at(-1) } });
  await killed();
  expect(await get(asked.id)).toEqual(done);
  expect(await runsOf("pay")).toHaveLength(1);
});

test("a working task continues, and the same message sent again is the same task", async () => {
  await commit(site.dir, { "agents/slow.ts": SLOW });
  const message = said("count", skill("slow"));
  const first = (await rpc(site, "message/send", { message, configuration: { blocking: false } })).result;
  expect(first.status.state).toMatch(/submitted|working/);
  await killed();
  const done = (await rpc(site, "message/send", { message })).result;
  expect({ id: done.id, ...done.status }).toEqual({ id: first.id, state: "completed", timestamp: expect.any(String) });
  expect(await runsOf("slow")).toHaveLength(1);
});

test("a kill while messages arrive leaves no run without its task", async () => {
  let [answered, over] = [0, false];
  const sender = async (): Promise<void> => {
    // An id that says nothing: what is lost here is not sent again as the same message.
    const message = { messageId: "a", role: "user", parts: [{ data: { bill_id: "B-1" } }], ...skill("pay") };
    while (!over) {
      await rpc(site, "message/send", { message, configuration: { blocking: false } }).catch(() => (over = true));
      answered++;
    }
  };
  const senders = Array.from({ length: 12 }, sender);
  while (answered < 40) await new Promise((done) => setTimeout(done, 5));
  await site.started.stop("SIGKILL");
  over = true;
  await Promise.all(senders);
  site = await again(site.dir);
  const runs = (await cleared(site.dir, "runs", "list", "--limit", "500", "--json")).json() as Any[];
  const { tasks } = (await rpc(site, "ListTasks", { pageSize: 100 }, V1)).result;
  expect(tasks.map((one: Any) => one.metadata.run).sort()).toEqual(runs.map(({ id }) => id).sort());
});

test("a task whose history is no longer stored still reports its end, and does not hide others from a list", async () => {
  const ended = (await rpc(site, "SendMessage", { message: said1("old", skill("echo")) }, V1)).result.task;
  const waits = (await rpc(site, "SendMessage", { message: said1("BILL-7", skill("pay")) }, V1)).result.task;
  await site.started.stop();
  // As years later, when config.yaml says that histories are not kept (test/cli/upkeep.test.ts).
  const store = new DatabaseSync(join(site.dir, ".cleared/store.db"));
  store.exec(`DELETE FROM events WHERE rid = (SELECT rid FROM runs WHERE id = '${ended.metadata.run}')`);
  store.exec(`UPDATE runs SET bundle = 0, input = '', result = NULL WHERE id = '${ended.metadata.run}'`);
  store.close();
  site = await again(site.dir);
  expect(await get(ended.id)).toMatchObject({
    status: { state: "TASK_STATE_COMPLETED" },
    artifacts: [{ parts: [{ text: expect.stringContaining("no longer stored") }] }],
  });
  const listed = async (more: Any) => (await rpc(site, "ListTasks", more, V1)).result.tasks.map(({ id }: Any) => id);
  expect((await listed({})).sort()).toEqual([ended.id, waits.id].sort());
  for (const _ of "12") expect(await listed({ status: "TASK_STATE_COMPLETED" })).toEqual([ended.id]);
  expect(await listed({ status: "TASK_STATE_AUTH_REQUIRED" })).toEqual([waits.id]);
});
