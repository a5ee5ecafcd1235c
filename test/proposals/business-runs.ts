/**
 * The demo business with a history, for tests of proposals: a statement imported and one of its entries confirmed, an invoice paid after a
 * yes, one that was refused, a payroll; and what a rewrite's card says there.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Decided, asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { importFiles } from "../../runtime/app/imports.ts";
import { propose } from "../../runtime/app/proposals-api.ts";
import { cardOf } from "../../runtime/change/proposals/card.ts";
import type { Card, Decision } from "../../runtime/kernel/ports.ts";
import { syncProposals } from "../../runtime/change/proposals/sync.ts";
import type { Proposal } from "../../runtime/change/proposal-types.ts";
import { type Business, answer, approved, business, open, run } from "../agents/harness.ts";
import { type Rewrite, rewritten } from "./rewrites.ts";

const STATEMENT = join(import.meta.dirname, "../../examples/statements/chase-checking-2026-10.csv");
const MORE: Record<string, string> = {
  "knowledge/vendors.md": "# Vendors\n- Acme: net 30, IBAN DE02120300000000202051\n- Northwind: net 14\n",
  "knowledge/accounts.md":
    "# Accounts\n## Acme\nIBAN DE02120300000000202051\n- ask Pat\n## Globex\nIBAN DE12500105170648489890\n- ask Pat\n",
  "knowledge/rates.yaml": "vat: 19\nmileage: 0.30\n",
};

export async function withRuns(): Promise<Business> {
  const at = await business();
  for (const [path, text] of Object.entries(MORE)) {
    mkdirSync(dirname(join(at.dir, path)), { recursive: true });
    writeFileSync(join(at.dir, path), text);
  }
  git(at, "add", ...Object.keys(MORE));
  git(at, "commit", "-qm", "knowledge: what is known");
  await importFiles(at.host, { files: [STATEMENT], dryRun: false, again: false });
  const card = at.host.cards.list({ open: true, kind: "entry" }).find(({ title }) => title.startsWith("AMZN"));
  await decideCard(at.host, signAs(at.dir, at.host.trust, { ...asked(card as never), decision: "approved", at: at.host.clock.now() }));
  await approved(at, "invoice_reconciliation", { invoice_id: "INV-2024-447" });
  const refused = await run(at, "invoice_reconciliation", { invoice_id: "INV-2024-452" });
  if (refused.status === "waiting") await answer(at, refused, "rejected");
  await approved(at, "payroll", { pay_group: "US-BIWEEKLY", period_start: "2024-10-07", period_end: "2024-10-20", pay_date: "2024-10-25" });
  return at;
}

export function git({ dir }: Business, ...args: string[]): string {
  return execFileSync("git", ["-c", "user.name=Pat", "-c", "user.email=pat@example.com", ...args], { cwd: dir, encoding: "utf8" });
}

let made = 0;

/** The rewrite of what HEAD has, proposed by Pat and checked. */
export async function proposed({ dir, host }: Business, title: string, change: Rewrite, reason = ""): Promise<Proposal> {
  const paths = Object.keys(change);
  const tree = host.git.tree(await host.git.head());
  const files = new Map<string, string>();
  for (const path of paths) {
    const text = await tree.read(path);
    if (text !== null) files.set(path, text);
  }
  const changed = rewritten(files, change);
  const from = join(dir, `.cleared/rewrite-${++made}`);
  const removed = paths.filter((path) => change[path] === null);
  if (removed.length > 0) {
    for (const path of removed) rmSync(join(dir, path));
    for (const path of paths) if (!removed.includes(path)) writeFileSync(join(dir, path), changed.get(path) ?? "");
    return (await propose(host, { title, reason, by: "Pat", paths })).proposal;
  }
  for (const path of paths) {
    mkdirSync(dirname(join(from, path)), { recursive: true });
    writeFileSync(join(from, path), changed.get(path) ?? "");
  }
  return (await propose(host, { title, reason, by: "Pat", paths: [], from })).proposal;
}

/** The card as a person reads it, without its details. */
export function told(proposal: Proposal): string {
  const { headline, parts } = cardOf(proposal);
  return [headline, ...parts.flatMap(({ name, lines }) => lines.map((line) => `${name}: ${line}`))].join("\n");
}

/** Changes that somebody makes in a quarter, each proposed by Pat and approved by Mo; they leave alone what the rewrites replace. */
const QUARTER: Rewrite[] = [
  ...["HERTZ", "SHELL", "FEDEX", "SLACK", "NOTION"].map(
    (text): Rewrite => ({
      "agents/ingest.ts": [
        ["const rules = [", `const rules = [\n  { text: "${text}", account: 5040, vendor: "${text}", confidence: 0.8 },`],
      ],
    }),
  ),
  { "knowledge/banks.md": "Chase closes at five.\n" },
  { "importers/chase-card.yaml": [[/$/, "# looked at\n"]] },
  { "agents/payroll.ts": [['fsm_enter("COMPUTE");', '// What everybody gets.\nfsm_enter("COMPUTE");']] },
  { "policies/general.yaml": [[/^/, "# looked at\n"]] },
  { "config.yaml": [["settings: {}", "settings: {}   # none yet"]] },
];

/** Ten changes accepted, each with what it freezes. */
export async function accepted(at: Business): Promise<void> {
  for (const [i, change] of QUARTER.entries()) {
    const { number, state } = await proposed(at, `change ${i + 1}`, change);
    if (state !== "ready") throw new Error(`change ${i + 1} is ${state}`);
    await decidedBy(at, number, "Mo");
  }
}

/** A proposal approved by somebody else than who proposed it. */
export async function decidedBy({ dir, host }: Business, number: number, by: string, more: Partial<Decision> = {}): Promise<Decided> {
  const before = process.env["CLEARED_KEY"];
  process.env["CLEARED_KEY"] = join(dir, `.cleared/${by}.key`);
  try {
    const card = host.cards.get(number) as Card;
    return await decideCard(host, signAs(dir, host.trust, { ...asked(card), decision: "approved", at: host.clock.now(), ...more }));
  } finally {
    if (before === undefined) delete process.env["CLEARED_KEY"];
    else process.env["CLEARED_KEY"] = before;
  }
}

/** A clone of the workspace on another machine: its books and proposals, no histories; Mo's key is there. */
export async function clonedTo(at: Business): Promise<Business> {
  const bare = `${at.dir}.git`;
  execFileSync("git", ["clone", "-q", "--bare", at.dir, bare]);
  git(at, "remote", "add", "team", bare);
  await syncProposals(at.host, "team");
  const dir = `${at.dir} clone`;
  execFileSync("git", ["clone", "-q", "-o", "team", bare, dir]);
  mkdirSync(join(dir, ".cleared"), { mode: 0o700 });
  for (const name of ["Mo", "Lee"]) cpSync(join(at.dir, `.cleared/${name}.key`), join(dir, `.cleared/${name}.key`));
  const host = await open(dir);
  await syncProposals(host, "team");
  return { dir, host };
}
