/** `cleared demo erp` as typed: from a folder with a blank, into a folder once, and the transcript it promises. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

const here = realpathSync(mkdtempSync(join(tmpdir(), "cleared demo ")));
afterAll(() => rmSync(here, { recursive: true, force: true }));

const CLEARED = join(import.meta.dirname, "../../bin/cleared.js");
const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", NO_COLOR: "1" };
const typed = (cwd: string, ...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLEARED, ...args], { cwd, env, encoding: "utf8" });
  return { status, said: stdout + stderr };
};

test("a demo business is created once, and an invoice goes from its variance to a verified payment", () => {
  const folder = join(here, "my books");
  mkdirSync(folder);
  const made = typed(folder, "demo", "erp", "--person", "Pat");
  expect(made).toMatchObject({ status: 0, said: expect.stringContaining("./cleared run invoice_reconciliation --input") });
  expect(typed(folder, "demo", "erp")).toMatchObject({ status: 2, said: expect.stringContaining("name another folder") });
  expect(typed(folder, "demo", "crm")).toMatchObject({ status: 2, said: expect.stringContaining("cleared demo erp") });
  const dir = join(folder, "erp-demo");
  const asked = typed(dir, "run", "invoice_reconciliation", "--input", `{"invoice_id":"INV-2024-447"}`);
  expect(asked.said).toContain("waiting");
  expect(asked.said).toContain("variance_pct 2.2265625 > 2");
  expect(asked.said).toContain("rule VARIANCE_GT_2PCT, policies/invoice_reconciliation.yaml");
  expect(asked.said).toContain("waits for: manager; card 1, brief attached");
  expect(typed(dir, "approve", "1")).toMatchObject({ status: 0, said: expect.stringContaining("completed") });
  const run = /run_\w+/.exec(asked.said)?.[0] ?? "";
  const shown = typed(dir, "runs", "show", run).said;
  for (const word of [
    "POLICY_CHECK",
    "APPROVAL_GATE",
    "MUTATE",
    "VERIFIED erp/approve_invoice",
    `status: "received" -> "approved"`,
    "VERIFIED erp/schedule_payment",
  ])
    expect(shown).toContain(word);
  expect(typed(dir, "agents", "show", "invoice_reconciliation").said).toContain("APPROVAL_GATE?");
});
