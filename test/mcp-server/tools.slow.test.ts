/** A chat client calls agents and follows them: both generations of the protocol, over standard input and output and over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Any, type Served, serve } from "../a2a/client.ts";
import { cleared, commit } from "../cli/command-line.ts";
import { type Connected, type Generation, overHttp, overStdio } from "./clients.ts";

const FORMS = `/*
name: Forms
description: Every kind of field
trigger: mcp
mutates: false
uses: [ctx]
input:
  amount: {type: money, required: true, describe: what is owed}
  on: {type: date}
  level: {type: string, enum: [low, high], default: low}
  idempotency_key: {type: string}
*/
({ summary: input.amount + " " + input.level + " \\u202eevil" });
`;

let site: Served;
beforeAll(async () => {
  site = await serve();
  await commit(site.dir, { "agents/forms.ts": FORMS, "agents/queue.ts": FORMS.replace("Forms", "Queue") });
});
afterAll(() => site.started.stop());

const counted = async (agent: string): Promise<number> =>
  ((await cleared(site.dir, "runs", "list", "--agent", agent, "--json")).json() as unknown[]).length;

const WAYS: [Generation, "stdio" | "HTTP"][] = [
  ["2025", "stdio"],
  ["2025", "HTTP"],
  ["2026", "stdio"],
  ["2026", "HTTP"],
];

describe.each(WAYS)("a client of %s over %s", (generation, way) => {
  let client: Connected;
  beforeAll(async () => {
    client = await (way === "stdio" ? overStdio(site.dir, generation) : overHttp(site.url, generation));
  });
  afterAll(() => client.close());

  test("sees agents with trigger a2a or mcp as tools, with their fields and permissions", async () => {
    const { tools } = await client.client.listTools();
    const names = tools.map((one: Any) => one.name);
    expect(names).toEqual(
      expect.arrayContaining(["echo", "pay", "forms", "queue_agent", "run_status", "queue", "why", "ask", "cancel_run"]),
    );
    expect(names).not.toContain("hidden");
    expect(names).not.toContain("approve");
    const [echo, pay, forms] = ["echo", "pay", "forms"].map((name) => tools.find((one: Any) => one.name === name));
    expect(echo).toMatchObject({ annotations: { readOnlyHint: true }, inputSchema: { required: ["task"] } });
    expect(pay).toMatchObject({ annotations: { readOnlyHint: false, destructiveHint: true } });
    expect(forms.inputSchema.properties).toMatchObject({
      amount: { type: "string", description: "what is owed" },
      on: { type: "string", format: "date" },
      level: { enum: ["low", "high"], default: "low" },
    });
    expect(client.client.getInstructions()).toContain("never instructions");
  });

  test("gets an answer, and an invalid input is reported with its field", async () => {
    const { failed, value } = await client.call("echo", { task: "good day" });
    expect({ failed, value }).toMatchObject({
      failed: false,
      value: { status: "done", outcome: "completed", answer: { summary: "said good day", words: 2 } },
    });
    expect(value.review_url).toBe(`${site.url}/runs/${value.run}`);
    const wrong = await client.call("forms", { amount: 12, on: "soon" });
    expect(wrong).toMatchObject({
      failed: true,
      value: { error: { code: "RUN_INPUT", message: expect.stringContaining("amount: 12 is not") } },
    });
    const broken = await client.call("broken", {});
    expect(broken).toMatchObject({ failed: true, value: { status: "failed", run: expect.stringMatching(/^run_/) } });
    await expect(client.call("hidden", {})).rejects.toMatchObject({ code: -32602 });
  });

  test("sees invisible characters of an answer escaped", async () => {
    const { value } = await client.call("forms", { amount: "12.50", idempotency_key: "its own field" });
    expect(value.answer.summary).toBe("12.50 low \\u202eevil");
  });

  test("gets a link where a person must decide, and nothing it can call decides", async () => {
    const bill = `BILL-${generation}${way}`;
    const { failed, value } = await client.call("pay", { bill_id: bill });
    expect({ failed, value }).toMatchObject({ failed: false, value: { status: "waiting", card: expect.any(Number) } });
    expect(value.review_url).toBe(`${site.url}/#card-${value.card}`);
    // By the person whose program this is: where two must agree, they are not the second.
    expect((await cleared(site.dir, "runs", "show", value.run, "--json")).json().run).toMatchObject({ by: "Ada", cause: { kind: "mcp" } });
    // The same call, as after a lost answer: the same run.
    expect((await client.call("pay", { bill_id: bill })).value).toMatchObject({ run: value.run, repeated: true });
    const { cards } = (await client.call("queue")).value;
    expect(cards.find((one: Any) => one.card === value.card)).toMatchObject({ title: `Pay ${bill}?`, decided: null, run: value.run });
    await cleared(site.dir, "approve", String(value.card));
    const done = await client.call("run_status", { run: value.run, wait_seconds: 30 });
    expect(done.value).toMatchObject({ status: "done", outcome: "completed", answer: { summary: `${bill} approved by Ada` } });
    const why = (await client.call("why", { run: value.run })).value;
    expect(why).toMatchObject({ started: "mcp", steps: [{ name: "approval_wait" }] });
    const { resources } = await client.client.listResources();
    expect(resources.map((one: Any) => one.uri)).toContain(`cleared://runs/${value.run}`);
    const read = await client.client.readResource({ uri: `cleared://cards/${value.card}` });
    expect(JSON.parse(read.contents[0].text)).toMatchObject({ decided: { decision: "approved", by: "Ada" } });
    await expect(client.client.readResource({ uri: "cleared://entries/250118-0000000000" })).rejects.toThrow("No entry");
  });

  test("starts one run for one idempotency_key, also later and with two calls at once", async () => {
    const before = await counted("pay");
    const args = { bill_id: "BILL-7", idempotency_key: `${generation}-${way}` };
    const [one, two] = await Promise.all([client.call("pay", args), client.call("pay", args)]);
    expect(one.value.run).toBe(two.value.run);
    await client.call("cancel_run", { run: one.value.run });
    const again = await client.call("pay", args);
    expect(again.value).toMatchObject({ run: one.value.run, status: "canceled" });
    expect(await client.call("pay", { ...args, bill_id: "BILL-8" })).toMatchObject({
      failed: true,
      value: { error: { code: "TASK_REQUEST" } },
    });
    expect(await client.call("cancel_run", { run: one.value.run })).toMatchObject({ value: { status: "canceled" } });
    const { value: done } = await client.call("echo", { task: "over" });
    expect(await client.call("cancel_run", { run: done.run })).toMatchObject({ failed: true, value: { error: { code: "TASK_STATUS" } } });
    expect(await counted("pay")).toBe(before + 1);
  });
});
