/** examples/tck/serve.js: what the public conformance suite is run against tells from the id of a message what is wanted. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import type { AddressInfo } from "node:net";
import { ENV, ROOT, until } from "../cli/command-line.ts";
import { type Any, rpc, type Served, stream } from "./client.ts";

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}

/** What it says, and what it leaves where temporary files are. */
function begin(port: number, more: Record<string, string> = {}) {
  const temporary = mkdtempSync(join(tmpdir(), "cleared-front-"));
  const front = spawn(process.execPath, [join(ROOT, "examples/tck/serve.js"), String(port)], {
    env: { ...ENV, TMPDIR: temporary, ...more },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [front.stdout, front.stderr]) stream.on("data", (text) => (said += String(text)));
  // The user's folder for sockets of workspaces that lie deep stays.
  const left = () => readdirSync(temporary).filter((name) => name !== `cleared-${process.getuid?.()}`);
  return { front, said: () => said, ended: once(front, "close"), left };
}

test("a port in use, and a workspace that is not served, are reported with a remedy, and nothing is left behind", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const busy = begin((taken.address() as AddressInfo).port);
  expect((await busy.ended)[0]).toBe(1);
  expect(busy.said()).toMatch(/EADDRINUSE.*node examples\/tck\/serve\.js PORT/s);
  expect(busy.left()).toEqual([]);
  taken.close();
  const unserved = begin(await freePort(), { TASK_TIMEOUT: "never" });
  expect((await unserved.ended)[0]).toBeGreaterThan(0);
  expect(unserved.said()).toMatch(/TASK_TIMEOUT must be seconds.*ended before/s);
  expect(unserved.left()).toEqual([]);
  const stopped = begin(await freePort());
  await until(() => stopped.left().length > 0);
  stopped.front.kill("SIGTERM");
  expect((await stopped.ended)[0]).not.toBeNull();
  expect(stopped.left()).toEqual([]);
});

test("messages complete, ask and take time as their ids say, in 1.0 and 0.3; nothing is left behind", async () => {
  const port = await freePort();
  const { front, said, ended, left } = begin(port);
  await until(() => said().includes("The suite's address"));
  const site = { url: `http://127.0.0.1:${port}`, dir: "", started: null as never } satisfies Served;
  const message = (id: string, more: Any = {}) => ({ messageId: id, role: "ROLE_USER", parts: [{ text: "Hello from TCK" }], ...more });
  const send = async (sent: Any, configuration: Any = {}) =>
    (await rpc(site, "SendMessage", { message: sent, configuration }, { version: "1.0" })).result.task;
  expect((await send(message("tck-complete-task-1"))).status.state).toBe("TASK_STATE_COMPLETED");
  const asked = await send(message("tck-input-required-1"));
  expect(asked.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  const answered = await send(message("tck-complete-task-2", { taskId: asked.id }));
  expect([answered.id, answered.status.state]).toEqual([asked.id, "TASK_STATE_COMPLETED"]);
  const later = await send(message("tck-delayed-complete-1"), { returnImmediately: true });
  expect(later.status.state).toMatch(/SUBMITTED|WORKING/);
  expect((await send(message("tck-delayed-complete-2"))).status.state).toBe("TASK_STATE_COMPLETED");
  const old = { messageId: "text-1", role: "user", kind: "message", parts: [{ kind: "text", text: "Hello" }] };
  const { result } = await rpc(site, "message/send", { message: old });
  expect(result.status.state).toBe("input-required");
  const more = { ...old, messageId: "text-2", taskId: result.id };
  const events = await Array.fromAsync(stream(site, "message/stream", { message: more }));
  expect(events.at(-1)).toMatchObject({ kind: "status-update", final: true, status: { state: "completed" } });
  const card: Any = await (await fetch(`${site.url}/.well-known/agent-card.json`, { headers: { "a2a-version": "1.0" } })).json();
  expect(card.supportedInterfaces[0].url).toContain(`:${port}`);
  front.kill("SIGTERM");
  expect((await ended)[0]).toBe(0);
  expect(left()).toEqual([]);
});
