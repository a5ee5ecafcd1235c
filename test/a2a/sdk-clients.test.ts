/** The clients of the official SDK, of 1.0 over JSON-RPC and REST and of 0.3, go through every method; what is wrong is told as the same error. */
import {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
  TaskState,
} from "@a2a-js/sdk";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleared, workspace } from "../cli/command-line.ts";
import { type Any, messageId, type Served, serve } from "./client.ts";

let site: Served;
beforeAll(async () => {
  const trust = readFileSync(join(await workspace(), "trust.yaml"), "utf8");
  site = await serve({ "trust.yaml": trust.replace("loopback: false", "loopback: true") });
});
afterAll(() => site.started.stop("SIGKILL"));

const said = (text: string, skill: string, more: Any = {}, configuration: Any = {}) =>
  SendMessageRequest.fromJSON({
    message: { messageId: messageId(), role: "ROLE_USER", parts: [{ text }], metadata: { skill }, ...more },
    configuration,
  });
const stateOf = (answer: Any): string => {
  const { $case, value } = answer.payload ?? { $case: "task", value: answer };
  return $case === "artifactUpdate" ? "artifact" : String(TaskState[value.status.state]).replace("TASK_STATE_", "");
};

test.each(["JSONRPC 1.0", "HTTP+JSON 1.0", "JSONRPC 0.3"])("%s", async (way) => {
  const [binding = "", version] = way.split(" ");
  const options = { legacyCompat: { enabled: version === "0.3" } };
  const card = await new DefaultAgentCardResolver(options).resolve(site.url);
  card.supportedInterfaces = card.supportedInterfaces.filter((one) => `${one.protocolBinding} ${one.protocolVersion.slice(0, 3)}` === way);
  const transports = [binding === "JSONRPC" ? new JsonRpcTransportFactory(options) : new RestTransportFactory(options)];
  const client = await new ClientFactory({ transports }).createFromAgentCard(card);
  const failed = (work: Promise<unknown>) => work.then(String, (error: Error) => error.name);

  expect(stateOf(await client.sendMessage(said("hello", "echo")))).toBe("COMPLETED");
  const streamed = (await Array.fromAsync(client.sendMessageStream(said("hello", "echo")))).map(stateOf);
  expect(streamed).toEqual(["SUBMITTED", "WORKING", "artifact", "COMPLETED"]);
  const asked: Any = await client.sendMessage(said("which", "pay"));
  expect(stateOf(asked)).toBe("INPUT_REQUIRED");
  const task: Any = await client.sendMessage(said("BILL-1", "pay", { taskId: (asked.payload?.value ?? asked).id }));
  expect(stateOf(task)).toBe("AUTH_REQUIRED");
  const { id, contextId } = task.payload?.value ?? task;
  const following = Array.fromAsync(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id })));
  expect((await client.getTask(GetTaskRequest.fromJSON({ id, historyLength: 1 }))).history).toHaveLength(1);
  if (version === "1.0") {
    const listed = await client.listTasks(ListTasksRequest.fromJSON({ contextId }));
    expect([listed.tasks.map(stateOf), listed.pageSize, listed.totalSize, listed.nextPageToken]).toEqual([["AUTH_REQUIRED"], 50, 1, ""]);
    // The size of a page, also of an empty one (ListTasksResponse.page_size, "The page size used for this response").
    expect(await client.listTasks(ListTasksRequest.fromJSON({ contextId: "none", pageSize: 7 }))).toMatchObject({ tasks: [], pageSize: 7 });
  }
  const push = TaskPushNotificationConfig.fromJSON({ taskId: id, id: "p1", url: "http://127.0.0.1:9/x", token: "t" });
  expect(await client.createTaskPushNotificationConfig(push)).toMatchObject({ taskId: id, id: "p1", url: push.url });
  expect((await client.listTaskPushNotificationConfig(push as Any)).configs.map((one) => one.id)).toEqual(["p1"]);
  expect(await client.getTaskPushNotificationConfig(push as Any)).toMatchObject({ id: "p1" });
  await client.deleteTaskPushNotificationConfig(push as Any);
  expect(await failed(client.getTaskPushNotificationConfig(push as Any))).toBe("TaskNotFoundError");
  expect((await client.getAgentCard()).skills.map((one) => one.id)).toContain("pay");
  const cards = (await cleared(site.dir, "queue", "--json")).json() as Any[];
  await cleared(site.dir, "approve", String(cards.at(-1).id));
  expect((await following).map(stateOf)).toEqual(["AUTH_REQUIRED", "WORKING", "artifact", "COMPLETED"]);

  expect(await failed(client.getTask(GetTaskRequest.fromJSON({ id: "none" })))).toBe("TaskNotFoundError");
  expect(await failed(client.cancelTask(CancelTaskRequest.fromJSON({ id })))).toBe("TaskNotCancelableError");
  expect(await failed(client.sendMessage(said("more", "pay", { taskId: id })))).toBe("UnsupportedOperationError");
  expect(await failed(client.sendMessage(said("x", "echo", { parts: [] })))).toBe("RequestMalformedError");
  expect(await failed(client.sendMessage(said("x", "none")))).toBe("RequestMalformedError");
  const file = { parts: [{ raw: "aGk=", mediaType: "application/pdf", filename: "a.pdf" }] };
  expect(await failed(client.sendMessage(said("x", "echo", file)))).toBe("ContentTypeNotSupportedError");
  const later: Any = await client.sendMessage(said("BILL-2", "pay", {}, { returnImmediately: true }));
  expect(stateOf(await client.cancelTask(CancelTaskRequest.fromJSON({ id: (later.payload?.value ?? later).id })))).toBe("CANCELED");
});
