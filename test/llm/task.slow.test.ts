/** The tool loop as a script, and the agent for everything else with a model: each call is a step under the same rights, states and gates. */
import { afterAll, expect, test } from "vitest";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answer, business, changes, finish, gateOf, run } from "../agents/harness.ts";
import { type Asked, type FakeModel, fakeModel, type Reply } from "./server.ts";

afterAll(finish);

/** A call of the tool whose name begins so, as the model was offered it. */
const call = ({ body }: Asked, tool: string, input: object): Reply => ({
  call: {
    name: body.tools.map((one: { function: { name: string } }) => one.function.name).find((name: string) => name.startsWith(tool)),
    input,
  },
});

async function withModel(answers: FakeModel["answer"]) {
  const server = await fakeModel(answers);
  const at = await business((trust) => trust.replace(/^models: \{\}.*$/m, `models: {local: {backend: openai, url: "${server.url}/v1"}}`));
  return { at, server };
}

test("a task in words is worked on by reading; a change waits for a person; a figure invented by a model goes nowhere", async () => {
  const { at, server } = await withModel((asked, before) => {
    const said = JSON.stringify(asked.body.messages);
    if (said.includes("how much is"))
      return said.includes("1. erp/get_invoice")
        ? call(asked, "finish", { answer: "it is read" })
        : call(asked, "erp__get_invoice", { invoice_id: "INV-2024-447" });
    if (said.includes("close it")) return call(asked, "erp__close_ticket", { ticket_id: "T-1003", resolution: "withdrawn" });
    return before > 0
      ? call(asked, "erp__write_off_invoice", { ar_invoice_id: "AR-3008", amount: "123.45", reason: "bankrupt" })
      : "nothing";
  });
  expect(await run(at, "general", { task: "find the invoice of Contoso" }).then(({ error, result }) => error ?? result)).toMatchObject({
    decision_or_status: "found",
    tools: expect.any(Array),
  });
  expect(server.asked.length).toBe(0);
  writeModel(at.dir);
  const read = await run(at, "general", { task: "how much is the invoice INV-2024-447" });
  expect([read.error, read.result]).toEqual([
    null,
    expect.objectContaining({ result: { answer: "it is read" }, action_taken: expect.stringContaining("read erp/get_invoice") }),
  ]);
  const before = changes(at);
  const waiting = await run(at, "general", { task: "close it: the ticket T-1003 was withdrawn" });
  expect([waiting.error, JSON.stringify(gateOf(at, waiting))]).toEqual([null, expect.stringContaining("T-1003")]);
  expect(changes(at)).toEqual(before);
  expect(await answer(at, waiting)).toMatchObject({ outcome: "completed", result: { decision_or_status: "done" } });
  expect(changes(at)).toEqual([...before, "close_ticket"]);
  const made = await run(at, "general", { task: "write off the invoice AR-3008 of the bankrupt customer" });
  expect(made).toMatchObject({ status: "failed", error: { code: "AMOUNT_UNTRACED", message: expect.stringContaining("123.45") } });
});

function writeModel(dir: string): void {
  const file = join(dir, "config.yaml");
  writeFileSync(file, `${readFileSync(file, "utf8")}\nmodels: {small: local/one, large: local/one}\n`);
  execFileSync("git", ["-c", "user.name=Pat", "-c", "user.email=pat@example.com", "commit", "-qam", "config: a model"], { cwd: dir });
}
