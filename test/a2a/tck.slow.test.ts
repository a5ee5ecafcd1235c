/** examples/tck/serve.js: what the public conformance suite is run against tells from the id of a message what is wanted. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync } from "node:fs";
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

test("messages complete, ask and take a while as their ids say, in 1.0 and 0.3; at its end nothing stays", {
  timeout: 120_000,
}, async () => {
  const temporary = mkdtempSync(join(tmpdir(), "cleared-front-"));
  const port = await freePort();
  const front = spawn(process.execPath, [join(ROOT, "examples/tck/serve.js"), String(port)], {
    env: { ...ENV, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  front.stdout.on("data", (text) => (said += String(text)));
  await until(() => said.includes("The suite's address"));
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
  await once(front, "exit");
  expect(existsSync(temporary) ? readdirSync(temporary).filter((name) => name.startsWith("cleared-tck-")) : []).toEqual([]);
});
