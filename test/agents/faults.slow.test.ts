/** The invoice agent while something goes wrong: the owner is killed between a payment and its record, the server lies, dies, fails, hangs about. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { answer, approved, business, changes, finish, gateOf, open, run, shut, writesOf } from "./harness.ts";
import { share } from "../share.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(finish);

const INPUT = { invoice_id: "INV-2024-447" };
const BOTH = ["approve_invoice", "schedule_payment"];
/** trust.yaml with a server that misbehaves. */
const behaving = (mode: string) => (trust: string) => trust.replace("--db, .cleared/erp.db]", `--db, .cleared/erp.db, --mode, "${mode}"]`);

async function until(what: () => boolean): Promise<void> {
  for (const end = Date.now() + 90_000; Date.now() < end && !what(); ) await new Promise((next) => setTimeout(next, 5));
  expect(what()).toBe(true);
}

test.each(share(BOTH, 2, String))(
  "killed after %s and before recording it, the run pays once",
  async (tool) => {
    // Answers come late, the work is done at once: the kill falls in between.
    const at = await business(behaving("slow=250"));
    await shut(at.host);
    // Decided by Lee, who is not the one the run belongs to.
    const child = spawn(process.execPath, [join(import.meta.dirname, "owner-child.ts"), at.dir], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, CLEARED_KEY: join(at.dir, ".cleared/Lee.key") },
    });
    children.push(child);
    const ended = once(child, "exit");
    const [said] = (await once(child.stdout, "data")) as [Buffer];
    await until(() => changes(at).includes(tool));
    child.kill("SIGKILL");
    await ended;
    at.host = await open(at.dir);
    const end = await at.host.engine.result(String(said).trim(), { timeoutMs: 100_000 });
    expect([end.error, end.status, end.outcome]).toEqual([null, "done", "completed"]);
    expect(changes(at)).toEqual(BOTH);
    expect((await writesOf(at, end)).map((one) => [one.tool, one.status])).toEqual(BOTH.map((one) => [`erp/${one}`, "VERIFIED"]));
  },
  120_000,
);

test("a server that reports a write it did not make is a mismatch, and nothing follows before a person has looked", async () => {
  const at = await business(behaving("lying"));
  const waiting = await run(at, "sla_breach", { contract_id: "CTR-501", period: "2024-09" });
  expect((await writesOf(at, waiting)).map((one) => one.status)).toEqual(["MISMATCH"]);
  expect(gateOf(at, waiting).title).toBe("MISMATCH: erp/apply_credit reported success, but its record differs");
  const end = await answer(at, waiting, "rejected");
  expect(end).toMatchObject({ outcome: "rejected", meta: { writes: { n: 1, verified: 0, stands: [] } } });
  // Nothing is paid on an approval that is not there.
  const paying = await answer(at, await run(at, "invoice_reconciliation", INPUT));
  expect(paying).toMatchObject({ status: "waiting", reason: "escalation" });
  expect((await writesOf(at, paying)).map((one) => one.status)).toEqual(["MISMATCH"]);
  expect(changes(at)).toEqual([]);
});

test("a server that dies after each write, before answering, has written once", async () => {
  const at = await business(behaving("dying"));
  const { writes } = await approved(at, "invoice_reconciliation", INPUT);
  expect(changes(at)).toEqual(BOTH);
  expect(writes.map((one) => one.status)).toEqual(["VERIFIED", "VERIFIED"]);
});

test("a server that writes and then reports a failure has written once", async () => {
  const at = await business(behaving("erring"));
  const { writes } = await approved(at, "invoice_reconciliation", INPUT);
  expect(changes(at)).toEqual(BOTH);
  expect(writes.map((one) => one.status)).toEqual(["VERIFIED", "VERIFIED"]);
});

test("without a tool server, the run says what to add to trust.yaml", async () => {
  const at = await business((trust) => trust.replace(/^mcp:\n(?: {2}.*\n)+/m, "mcp: {}\n"));
  const end = await run(at, "invoice_reconciliation", INPUT);
  expect(end).toMatchObject({ status: "failed", error: { code: "TOOL_UNKNOWN", message: expect.stringContaining("trust.yaml") } });
  expect(end.error?.message).toMatch(/mcp:/);
});
