/** The seeds' invoice, from a request of each generation to verified writes in the demo business, with a person's yes between. */
import { cpSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleared, start } from "../cli/command-line.ts";
import { confirm } from "../confirm.ts";
import { type Any, messageId, rpc } from "./client.ts";

const here = realpathSync(mkdtempSync(join(tmpdir(), "cleared invoice ")));
beforeAll(async () => {
  expect((await cleared(here, "demo", "erp", join(here, "made"), "--person", "Pat")).code).toBe(0);
});
afterAll(() => rmSync(here, { recursive: true, force: true }));

const TEXT = "Acme Corp submitted invoice INV-2024-447 for $52,340.\nThe approved PO-8821 was $51,200. Approve or reject per policy.";
const POLICY = JSON.stringify({
  rules: [{ id: "CALLER_LIMIT", condition: "amount > 1000", action: "require_approval", level: "manager" }],
});
// Which process it is, and which invoice, stands in the words.
const metadata = { session_id: "w1", policy_doc: POLICY };

// the generation, its method and its request, how its gate is called
test.each<[string, string, Any, string, string]>([
  ["0.1", "tasks/send", { id: "t1", message: { role: "user", parts: [{ text: TEXT }] }, metadata }, "input-required", "completed"],
  [
    "0.3",
    "message/send",
    { message: { messageId: messageId(), role: "user", parts: [{ kind: "text", text: TEXT }] }, metadata },
    "auth-required",
    "completed",
  ],
  [
    "1.0",
    "SendMessage",
    { message: { messageId: messageId(), role: "ROLE_USER", parts: [{ text: TEXT }] }, metadata },
    "TASK_STATE_AUTH_REQUIRED",
    "TASK_STATE_COMPLETED",
  ],
])(
  "A2A %s: the invoice over its order waits for a manager, is paid after the yes, and every write is verified",
  { timeout: 180_000 },
  async (version, method, params, waiting, completed) => {
    const dir = join(here, `erp ${version}`);
    cpSync(join(here, "made"), dir, { recursive: true, verbatimSymlinks: true });
    confirm(dir);
    const started = await start(dir, "--no-open", "--port", "0");
    try {
      const site = { dir, started, url: /http:\/\/127\.0\.0\.1:\d+/.exec(started.said())?.[0] ?? "" };
      const headers = version === "1.0" ? { version } : {};
      const taskOf = ({ result }: Any): Any => result.task ?? result;
      const asked = taskOf(await rpc(site, method, params, headers));
      expect(asked.status.state).toBe(waiting);
      const [words, { data }] = asked.status.message.parts;
      expect(words.text).toMatch(/^Pay .* for INV-2024-447\? Variance 2\.2265625 %/);
      expect((await cleared(dir, "approve", String(data.reviewId))).code).toBe(0);
      const [read, id] = version === "1.0" ? ["GetTask", asked.id] : ["tasks/get", asked.id];
      const done = (await rpc(site, read, { id }, headers)).result;
      expect(done.status.state).toBe(completed);
      expect(done.artifacts).toHaveLength(1);
      expect(done.artifacts[0].parts[0].text).toMatch(/^INV-2024-447 approved by Pat: .*\n[\s\S]*amount: 52340\.00\nvendor: Acme/);
      expect(done.artifacts[0].metadata.answer).toMatchObject({
        policy: "APPROVED",
        writes: { n: 2, verified: 2 },
        approvals: [{ by: "Pat" }],
      });
    } finally {
      await started.stop();
    }
  },
);
