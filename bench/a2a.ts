/**
 * What A2A costs, in CPU time of this process: a durable SendMessage of 1.0 that waits for its end, beside the same run started by itself, and
 * beside the SDK's own server, which keeps nothing. And the memory of 50 open streams. Bars: 1.0 ms over the run; 20 MB. No sockets in any.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { AgentCard, Message, Task, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler, ServerCallContext } from "@a2a-js/sdk/server";
import { createTaskServer } from "../runtime/a2a/server.ts";
import { createApi } from "../runtime/app/api.ts";
import { createFacts, figuresOf } from "../runtime/app/facts.ts";
import type { Host } from "../runtime/app/host.ts";
import { openHost } from "../runtime/app/open-host.ts";
import { tasksOf } from "../runtime/app/tasks.ts";
import { createStatusApp } from "../runtime/web/app.ts";
import { git } from "../runtime/workspace/git/git-process.ts";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { keepConfirmation, lookAtTrust } from "../runtime/workspace/settings/confirmation.ts";
import { addToken } from "../runtime/workspace/settings/tokens.ts";
import { median, spread } from "./measure.ts";

const ROUNDS = 7;
const TIMES = 200;
const STREAMS = 50;
const HEADER = "/*\nname: Echo\ntrigger: a2a\nmutates: false\nuses: [ctx]\ninput:\n  task: {type: string, required: true}\n*/\n";
const ECHO = `${HEADER}({ summary: "said " + input.task });\n`;
const WAIT = `${HEADER.replace("mutates: false\nuses: [ctx]", "uses: [approval]")}approval_wait({ title: "Go?", calls: [] });\n`;

const cpu = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
async function each(work: (i: number) => Promise<unknown>): Promise<number> {
  const before = cpu();
  for (let i = 0; i < TIMES; i++) await work(i);
  return (cpu() - before) / TIMES;
}

let n = 0;
const message = (skill: string) => ({
  messageId: crypto.randomUUID(),
  role: "ROLE_USER",
  parts: [{ text: `hello ${++n}` }],
  metadata: { skill },
});
const request = (method: string, params: object) => ({ jsonrpc: "2.0", id: n, method, params });

function servedBy(host: Host, token: string) {
  const onError = (error: unknown) => console.error(error);
  const app = createStatusApp(
    createFacts(host, createApi(host)),
    host.clock,
    undefined,
    createTaskServer(tasksOf(host), { onError, cardUrl: undefined, figures: () => figuresOf(host) }),
  );
  const headers = { host: "127.0.0.1", authorization: `Bearer ${token}`, "a2a-version": "1.0" };
  return async (method: string, params: object) =>
    app.fetch(new Request("http://127.0.0.1/", { method: "POST", headers, body: JSON.stringify(request(method, params)) }));
}

/** The SDK's server in memory, with an agent that answers at once. */
function bare() {
  const card = AgentCard.fromJSON({ name: "bare", version: "1", capabilities: {}, skills: [] });
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), {
    async execute({ taskId, contextId, userMessage }, bus) {
      const status = (state: string) => ({ state, timestamp: new Date().toISOString() });
      const task = { id: taskId, contextId, status: status("TASK_STATE_WORKING"), history: [Message.toJSON(userMessage)] };
      bus.publish(AgentEvent.task(Task.fromJSON(task)));
      const done = { taskId, contextId, status: status("TASK_STATE_COMPLETED") };
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(done)));
      bus.finished();
    },
    cancelTask: async () => undefined,
  });
  const transport = new JsonRpcTransportHandler(handler);
  return (params: object) =>
    transport.handle(JSON.stringify(request("SendMessage", params)), new ServerCallContext({ requestedVersion: "1.0" }));
}

const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));
try {
  const dir = join(folder, "w");
  await initWorkspace(dir, { name: "Bench", from: join(import.meta.dirname, ".."), person: "Bench" });
  writeFileSync(join(dir, "agents/echo.ts"), ECHO);
  writeFileSync(join(dir, "agents/wait.ts"), WAIT);
  await git(dir, ["add", "agents"]);
  await git(dir, ["-c", "user.name=Bench", "-c", "user.email=bench@localhost", "commit", "-qm", "agents"]);
  keepConfirmation(dir, lookAtTrust(dir));
  const token = addToken(dir, { name: "bench", agents: ["echo", "wait"], at: 0 });
  const host = await openHost(dir, { mode: "owner" });
  try {
    const send = servedBy(host, token);
    const ran = async (i: number) => {
      const { id } = await host.start("echo", { cause: { kind: "command", key: `${++n} ${i}` }, input: { task: `hello ${n}` } });
      await host.engine.result(id);
    };
    const served = async () => {
      const { result } = (await (await send("SendMessage", { message: message("echo") })).json()) as {
        result: { task: { status: { state: string } } };
      };
      if (result.task.status.state !== "TASK_STATE_COMPLETED") throw new Error(JSON.stringify(result));
    };
    const sdk = bare();
    const plain = async () => {
      const answer = (await sdk({ message: { ...message("echo"), contextId: "", taskId: "" } })) as { error?: object };
      if (answer.error !== undefined) throw new Error(JSON.stringify(answer));
    };
    const all: { run: number[]; send: number[]; sdk: number[] } = { run: [], send: [], sdk: [] };
    await Promise.all([each(ran), each(served), each(plain)]);
    for (let i = 0; i < ROUNDS; i++) {
      all.run.push(await each(ran));
      all.send.push(await each(served));
      all.sdk.push(await each(plain));
    }
    const over = all.send.map((one, i) => one - (all.run[i] ?? 0));
    console.log(`SendMessage to its end, durable: ${median(all.send).toFixed(2)} ms of CPU (${spread(all.send, 2)})`);
    console.log(
      `the run by itself: ${median(all.run).toFixed(2)} ms (${spread(all.run, 2)}); over it: ${median(over).toFixed(2)} ms (bar 1.0)`,
    );
    console.log(`the SDK's own server, in memory: ${median(all.sdk).toFixed(2)} ms (${spread(all.sdk, 2)})`);

    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const held = (): number => {
      for (let i = 0; i < 3; i++) gc();
      const { heapUsed, external } = process.memoryUsage();
      return (heapUsed + external) / 1024 / 1024;
    };
    const before = held();
    const readers = [];
    for (let i = 0; i < STREAMS; i++) {
      const reader = (await send("SendStreamingMessage", { message: message("wait") })).body?.getReader();
      while (!new TextDecoder().decode((await reader?.read())?.value).includes("AUTH_REQUIRED"));
      readers.push(reader);
    }
    console.log(`${STREAMS} open streams of tasks that wait: ${(held() - before).toFixed(1)} MB (bar 20)`);
    for (const reader of readers) await reader?.cancel();
  } finally {
    await host.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
