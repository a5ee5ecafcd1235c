/** The examples the README shows work in a new workspace as they are. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { agreed, asked } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Host } from "../../runtime/app/host.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { initWorkspace } from "../../runtime/workspace/init.ts";
import { confirm } from "../confirm.ts";

const root = join(import.meta.dirname, "..", "..");
let dir = "";
let host: Host | undefined;

afterEach(async () => {
  await host?.close();
  rmSync(dir, { recursive: true, force: true });
});

test("examples/pay asks, pays once what was approved, also after an edit, and nothing after a rejection", async () => {
  dir = mkdtempSync(join(tmpdir(), "cleared-examples-"));
  const workspace = join(dir, "books");
  await initWorkspace(workspace, { name: "Acme", from: root, person: "Ann" });
  cpSync(join(root, "examples", "pay"), workspace, { recursive: true });
  writeFileSync(
    join(workspace, "trust.yaml"),
    readFileSync(join(workspace, "trust.yaml"), "utf8").replace("plugins: []", "plugins: [plugins/bank.ts]"),
  );
  execFileSync("git", ["-C", workspace, "add", "-A"]);
  execFileSync("git", [
    "-C",
    workspace,
    "-c",
    "user.name=Ann",
    "-c",
    "user.email=ann@localhost",
    "commit",
    "-qm",
    "agent: pay, after an approval",
  ]);
  confirm(workspace);
  host = await openHost(workspace, { mode: "owner" });
  const api = createApi(host);
  for (const [to, decision, amount] of [
    ["ACME", "approved", "120.00"],
    ["BETA", "edited", "50.00"],
    ["EVIL", "rejected", null],
  ] as const) {
    const run = await api.run({ agent: "pay", input: { to, amount: "120.00" }, wait: true });
    expect(run).toMatchObject({ status: "waiting", reason: "approval" });
    const [card] = host.cards.list({ open: true, run: run.id });
    if (card === undefined) throw new Error("no card");
    await api.decide({
      decision: signAs(workspace, host.trust, {
        ...asked(card),
        decision,
        ...(decision === "edited" ? agreed(card, { amount }) : {}),
        at: Date.now(),
      }),
    });
    const end =
      amount === null ? { outcome: "rejected", result: { paid: false } } : { outcome: "completed", result: { paid: true, amount } };
    expect(await host.engine.result(run.id)).toMatchObject({ status: "done", ...end });
  }
  expect(readFileSync(join(workspace, "payments.log"), "utf8")).toMatch(/^run_\w+\/1 120\.00 ACME\nrun_\w+\/1 50\.00 BETA\n$/);
});
