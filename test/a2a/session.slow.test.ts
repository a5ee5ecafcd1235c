/** Sessions in the demo business: a second turn goes on with the process of the first and its facts, another request begins its own, a yes starts nothing. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleared, put, start, until, warmUp } from "../cli/command-line.ts";
import { type Any, type Served, again, rpc, said, serve, skill } from "./client.ts";

beforeAll(warmUp);

const RECALL = `/*
name: Recall
trigger: a2a
mutates: false
uses: [ctx]
input: {task: {type: string, required: true}}
*/
ctx_session();
`;

const here = realpathSync(mkdtempSync(join(tmpdir(), "cleared session ")));
let site: Served;
beforeAll(async () => {
  const dir = join(here, "erp");
  expect((await cleared(here, "demo", "erp", dir, "--person", "Pat")).code).toBe(0);
  const started = await start(dir, "--no-open", "--port", "0");
  site = { dir, started, url: /http:\/\/127\.0\.0\.1:\d+/.exec(started.said())?.[0] ?? "" };
});
afterAll(async () => {
  await site.started.stop("SIGKILL");
  rmSync(here, { recursive: true, force: true });
});

let n = 0;
const send = async (session: string, text: string, options = {}): Promise<Any> => {
  const params = { id: `t${++n}`, message: { role: "user", parts: [{ text }] }, metadata: { session_id: session } };
  return (await rpc(site, "tasks/send", params, options)).result;
};
/** Without what the first has scheduled for the last day. */
const runs = async (agent: string): Promise<Any[]> => {
  const all = (await cleared(site.dir, "runs", "list", "--agent", agent, "--json")).json() as Any[];
  return all.filter(({ cause }) => cause.kind === "a2a");
};
const told = ({ history }: Any): string => JSON.stringify(history);

test("offboarding in two messages: the second knows the employee, waits for a person, and revokes after the approval", async () => {
  const first = await send("w1", "Start offboarding for employee E-2291, last day Friday.");
  expect(first.status.state).toBe("completed");
  expect(first.artifacts[0].parts[0].text).toMatch(/2024-11-15/);
  await site.started.stop("SIGKILL");
  site = { ...(await again(site.dir)), dir: site.dir };

  const yes = await send("w1", "I approve");
  expect(yes.status).toMatchObject({ state: "input-required", message: { parts: [{ text: expect.stringMatching(/^Which skill/) }, {}] } });
  expect((await rpc(site, "tasks/cancel", { id: yes.id })).result.status.state).toBe("canceled");

  const second = await send("w1", "Now revoke system access and send the exit survey.");
  expect(second.status).toMatchObject({
    state: "input-required",
    message: { parts: [{ text: expect.stringMatching(/decides this \(card/) }, {}] },
  });
  const [last, before] = await runs("hr_offboarding");
  expect(last).toMatchObject({
    input: { employee_id: "E-2291", revoke: "now" },
    cause: { detail: { continues: before.id, context: "w1" } },
  });

  // Another request of the same session is a process of its own; more words about the first decide nothing and start nothing.
  const other = await send("w1", "Acme Corp submitted invoice INV-2024-447 for $52,340. The approved PO-8821 was $51,200. Reconcile it.");
  expect(other.id).not.toBe(second.id);
  expect((await runs("invoice_reconciliation")).map((one) => one.input)).toEqual([{ invoice_id: "INV-2024-447" }]);
  const noted = (await rpc(site, "message/send", { message: said("revoke the access now, I approve", { contextId: "w1" }) })).result;
  expect([noted.status.state, told(noted)]).toEqual(["auth-required", expect.stringContaining("revoke the access now")]);
  expect(await runs("hr_offboarding")).toHaveLength(2);

  expect((await cleared(site.dir, "approve", String(second.status.message.parts[1].data.reviewId))).code).toBe(0);
  const done = (await rpc(site, "tasks/get", { id: second.id })).result;
  expect(done.status.state).toBe("completed");
  expect(done.artifacts[0].parts[1].data).toMatchObject({
    access: { status: "revoked" },
    systems: ["sso", "github", "slack", "jira", "aws"],
  });
});

test("another caller's session with the same name shares nothing", async () => {
  const { token } = (await cleared(site.dir, "tokens", "add", "partner", "--agents", "hr_offboarding,payroll", "--json")).json();
  const asked = await send("w1", "Now revoke system access and send the exit survey.", { token });
  expect(asked.status.state).toBe("input-required");
  expect(JSON.stringify(asked)).not.toContain("E-2291");
});

test("a script reads the conversation: recent messages whole, figures from older ones, and the runs", async () => {
  const other = await serve({ "agents/recall.ts": RECALL });
  try {
    const one = { contextId: "long", ...skill("echo") };
    for (let i = 0; i < 11; i++) await rpc(other, "message/send", { message: said(`Item ${i}00 costs $${i}1.50. thanks again`, one) });
    const recall = (options = {}): Promise<Any> =>
      rpc(other, "message/send", { message: said("what was said?", { contextId: "long", ...skill("recall") }) }, options);
    const [, { data }] = (await recall()).result.artifacts[0].parts;
    expect(data.turns).toHaveLength(6);
    expect(data.turns.at(-1)).toMatchObject({ role: "agent", text: expect.stringContaining("said Item 1000 costs") });
    for (let i = 0; i < 8; i++) expect(data.earlier).toContain(`user: Item ${i}00 costs $${i}1.50.`);
    expect(data.earlier).not.toMatch(/^user: thanks/m);
    expect(data.runs).toHaveLength(11);
    expect(data.runs[0]).toMatchObject({ agent: "echo", status: "done", outcome: "completed" });
    const { token } = (await cleared(other.dir, "tokens", "add", "partner", "--agents", "recall", "--json")).json();
    expect((await recall({ token })).result.artifacts[0].parts[1].data).toEqual({ turns: [], earlier: "", runs: [] });
  } finally {
    await other.started.stop("SIGKILL");
  }
});

const BOOK = `/*
name: Book
trigger: a2a
uses: [journal]
input: {row: {type: string, required: true}}
*/
journal_add_double({ date: "2026-11-06", description: input.row, debit_account: 5030, credit_account: 1010, amount: "1.10", key: input.row });
({ summary: input.row });
`;

test("a text that only continues a working process does not start it again; a message with its own input does", async () => {
  const other = await serve({ "agents/book.ts": BOOK });
  try {
    const booked = async () => ((await cleared(other.dir, "runs", "list", "--agent", "book", "--json")).json() as Any[]).toReversed();
    const say = async (part: Any): Promise<Any> => {
      const message = said("", { parts: [part], contextId: "fees", ...skill("book") });
      return (await rpc(other, "message/send", { message, configuration: { blocking: false } })).result;
    };
    // A file that a person is editing holds the run up for as long as it is edited.
    put(other.dir, { "journal/2026/11.journal": "; mine\n" });
    const first = await say({ data: { row: "ROW-1" } });
    await until(async () => (await booked())[0]?.status === "waiting");
    const [{ id }] = await booked();
    expect((await rpc(other, "tasks/get", { id: first.id })).result.status.state).toBe("working");
    const hurry = await say({ text: "please do it now" });
    expect(hurry.id).not.toBe(first.id);
    expect(hurry.status).toMatchObject({
      state: "rejected",
      message: { parts: [{ text: expect.stringContaining(`at work on that (${id})`) }] },
    });
    expect((await say({ data: { row: "ROW-2" } })).status.state).toMatch(/submitted|working/);
    expect((await booked()).map(({ input }) => input.row)).toEqual(["ROW-1", "ROW-2"]);
  } finally {
    await other.started.stop("SIGKILL");
  }
});
