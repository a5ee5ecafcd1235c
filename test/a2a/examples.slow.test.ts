/**
 * The seeds' five examples from a request of each generation to the demo business's own database, in words and without a model, with kill -9
 * in the middle of the writes; with `npm run test:long` in all three, and at each state a caller can see: taken in, asked, at the gate, ended.
 */
import { cpSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleared, start } from "../cli/command-line.ts";
import { confirm } from "../confirm.ts";
import { keepMarks } from "../marks.ts";
import { type Any, messageId, rpc, type Served } from "./client.ts";

const here = realpathSync(mkdtempSync(join(tmpdir(), "cleared examples ")));
beforeAll(async () => {
  expect((await cleared(here, "demo", "erp", join(here, "made"), "--person", "Pat")).code).toBe(0);
});
afterAll(() => rmSync(here, { recursive: true, force: true }));

const POLICY = JSON.stringify({ rules: [{ id: "CALLER", condition: "amount > 1000", action: "require_approval", level: "manager" }] });

interface Example {
  /** What its caller writes; the second of a list answers a question. */
  turns: (string | Any)[][];
  /** Titles of what waits for a person, in order. */
  gates: RegExp[];
  answer: Any;
  /** What the business has carried out, by its own log. */
  wrote: string[];
  rows?: [query: string, rows: Any[]];
}

const EXAMPLES: Record<string, Example> = {
  invoice: {
    turns: [["Acme Corp submitted invoice INV-2024-447 for $52,340.\nThe approved PO-8821 was $51,200. Approve or reject per policy."]],
    gates: [/^Pay .* for INV-2024-447\? Variance 2\.2265625 %/],
    answer: { decision: "approved", amount: "52340.00", variance: "1140.00", pays: { amount: "51293.20", discount: "1046.80" } },
    wrote: ["approve_invoice", "schedule_payment"],
  },
  order: {
    turns: [["Customer C-8821 wants to modify order ORD-5592: remove 3× Widget A, add 2× Widget B. Check inventory first."]],
    gates: [/^Change ORD-5592 of Brightline Stores, /],
    answer: { order_id: "ORD-5592", fulfillment: { status: "changed" } },
    wrote: ["modify_order_items"],
    rows: [
      "select sku, quantity from order_lines where order_id = 'ORD-5592' order by sku",
      [
        { sku: "CASE-S", quantity: 7 },
        { sku: "WIDGET-A", quantity: 2 },
        { sku: "WIDGET-B", quantity: 2 },
      ],
    ],
  },
  overtime: {
    turns: [
      [
        "Calculate Sarah Chen's overtime: 52 hours this week, base rate $28/hr, California state rules apply.",
        { employee: "Sarah Chen", week_start: "2024-10-07" },
      ],
    ],
    gates: [],
    answer: { pay: "1792.00", hours: "52", rule: "california" },
    wrote: [],
  },
  sla: {
    turns: [
      ["Vendor INFRA-9 had 99.1% uptime last month against a 99.9% SLA. Calculate the service credit per contract CTR-441.", "2024-09"],
    ],
    gates: [/^Credit 1260\.00 on CTR-441 for 2024-09\? 388\.8 minutes down/],
    answer: { credit: "1260.00", customer: "INFRA-9" },
    wrote: ["apply_credit"],
  },
  offboarding: {
    turns: [["Start offboarding for employee E-2291, last day Friday."], ["Now revoke system access and send the exit survey."]],
    gates: [/^Offboard Maya Okafor \(resignation\), 8 steps\?/],
    answer: { access: { status: "revoked" }, systems: ["sso", "github", "slack", "jira", "aws"] },
    wrote: ["update_employee_status", ...Array(5).fill("revoke_access"), ...Array(3).fill("transfer_ownership")],
  },
};

const VERSIONS = ["0.1", "0.3", "1.0"];
const ALL = Object.keys(EXAMPLES).flatMap((name) => VERSIONS.map((version) => [name, version] as const));
const LONG = process.env["CLEARED_LONG"] === "1";
const isShown = (_: unknown, i: number) => LONG || i % 3 === Math.floor(i / 3) % 3;

test.each(ALL.filter(isShown))("%s over A2A %s: asked, approved, verified and reported once, across kill -9", async (name, version) => {
  const { turns, gates, answer, wrote, rows } = EXAMPLES[name] as Example;
  const dir = join(here, `${name} ${version}`);
  cpSync(join(here, "made"), dir, { recursive: true, verbatimSymlinks: true });
  confirm(dir);
  await keepMarks(join(here, "made"), dir);
  let site: Served | undefined;
  const serve = async (): Promise<Served> => {
    await site?.started.stop("SIGKILL");
    const started = await start(dir, "--no-open", "--port", "0");
    return (site = { dir, started, url: /http:\/\/127\.0\.0\.1:\d+/.exec(started.said())?.[0] ?? "" });
  };
  const ask = async (method: string, params: Any): Promise<Any> => {
    const said = await rpc(site as Served, method, params, version === "1.0" ? { version } : {});
    const task = said.result?.task ?? said.result;
    if (task === undefined) throw new Error(JSON.stringify(said.error));
    return { ...task, state: task.status.state.replace("TASK_STATE_", "").toLowerCase().replace("_", "-") };
  };
  const send = (turn: number, words: string | Any, task: Any): Promise<Any> => {
    const part = typeof words === "string" ? { text: words } : { data: words };
    const configuration = { returnImmediately: true, blocking: false };
    const metadata = { session_id: "w1", policy_doc: name === "invoice" ? POLICY : undefined };
    if (version === "0.1") return ask("tasks/send", { id: `t${turn}`, message: { role: "user", parts: [part] }, metadata, configuration });
    const on = task === null ? { contextId: "w1" } : { taskId: task.id };
    const kind = version === "1.0" ? {} : { kind: typeof words === "string" ? "text" : "data" };
    const role = version === "1.0" ? "ROLE_USER" : "user";
    const message = { messageId: messageId(), role, parts: [{ ...kind, ...part }], ...on };
    return ask(version === "1.0" ? "SendMessage" : "message/send", { message, metadata, configuration });
  };
  const get = (id: string) => ask(version === "1.0" ? "GetTask" : "tasks/get", { id });
  const settled = async (id: string): Promise<Any> => {
    for (let task = await get(id); ; task = await get(id)) {
      if (!/submitted|working/.test(task.state)) return task;
      await new Promise((done) => setTimeout(done, 50));
    }
  };
  /** As it stands, before and after a kill. */
  const again = async (id: string): Promise<Any> => {
    const task = await settled(id);
    await serve();
    expect(await get(id)).toEqual(task);
    return task;
  };
  const stored = <T>(file: string, query: string): T[] => {
    const db = new DatabaseSync(join(dir, ".cleared", file), { readOnly: true, timeout: 10_000 });
    const found = db.prepare(query).all() as T[];
    db.close();
    return found.map((one) => ({ ...one }));
  };

  await serve();
  const titles = new Set<string>();
  let task: Any = null;
  for (const [turn, said] of turns.entries()) {
    task = null;
    for (const words of said) {
      const { id } = await send(turn, words, task);
      await serve();
      task = await again(id);
    }
    while (!/completed|failed|rejected|canceled/.test(task.state)) {
      const [{ text }, { data }] = task.status.message.parts;
      expect([task.state, data.reviewId]).toEqual([version === "0.1" ? "input-required" : "auth-required", expect.any(Number)]);
      titles.add(text);
      const card = data.reviewId;
      const approved = cleared(dir, "approve", String(card)).catch(() => undefined);
      // Until its first call outside is on its way, or was: it is killed there.
      const begun = () => stored<{ n: number }>("store.db", "SELECT count(*) AS n FROM steps WHERE state = 'intent'")[0]?.n;
      for (let looks = 0; looks < 400 && begun() === 0; looks++) await new Promise((done) => setTimeout(done, 5));
      await serve();
      await approved;
      await cleared(dir, "approve", String(card));
      task = await again(task.id);
    }
  }
  expect([task.state, task.artifacts?.length]).toEqual(["completed", 1]);
  const [, { data }] = task.artifacts[0].parts;
  expect(data).toMatchObject(answer);
  expect([...titles]).toEqual(gates.map((title) => expect.stringMatching(title)));
  if (wrote.length > 0)
    expect(stored<{ tool: string }>("erp.db", "select tool from change_log order by seq").map(({ tool }) => tool)).toEqual(wrote);
  if (rows !== undefined) expect(stored("erp.db", rows[0])).toEqual(rows[1]);
  await site?.started.stop();
});
