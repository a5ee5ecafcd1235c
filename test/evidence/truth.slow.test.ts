/**
 * The evidence is true: what a trial of a seeded, random rewrite predicts equals what happens when the same input runs on the rewritten
 * code in the workspace as it was before the recorded run: its effects, and what then lies in the books (payees, tags), in the store (cards,
 * notices) and at the bank (payments, summed). Limits: what a tool would answer that nobody called then, or that was called after
 * other acts; it is simulated or recalled, and said. Ids of runs, commits and audit lines are symbols.
 * Size: the rewrites and the workspaces they run in are most of it.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { openBusiness } from "../../examples/erp/business.ts";
import { findingsOf } from "../../runtime/app/check-api.ts";
import type { Host } from "../../runtime/app/host.ts";
import { canonicalJson } from "../../runtime/kernel/canonical.ts";
import { recordingOf } from "../../runtime/change/evidence/backtest.ts";
import { effectsOf } from "../../runtime/change/evidence/effects.ts";
import { codeOver } from "../../runtime/change/evidence/code.ts";
import { tryRun } from "../../runtime/change/evidence/trial.ts";
import type { Effects, Recording } from "../../runtime/change/evidence/types.ts";
import type { Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { answer, business as demo, finish, rows, run as runAgent } from "../agents/harness.ts";
import { STATEMENT } from "../engine/plugins.ts";
import { type Workspace, closeAll, decide, host, removeAll, start, workspace } from "../engine/harness.ts";
import { header } from "./trials.ts";
import { type Reached, happened, predicted } from "./world.ts";

afterAll(removeAll);

/** A small seeded generator (mulberry32): the same rewrites in every test run. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Rewrite = [what: string | RegExp, by: (pick: (below: number) => number, found: string) => string];

const one = <T>(pick: (below: number) => number, of: readonly T[]): T => of[pick(of.length)] as T;
const ACCOUNTS = ["5010", "5020", "5030", "5040", "5070", "5090", "1010", "9999"];
const STATUSES = ["auto-confirmed", "pending-review", "user-confirmed"];
const AMOUNTS = ["1.00", "0.01", "42.00", "120.00", "99999.99", "0.00", "-3.00"];

const PAYEES = ["Eve", "", "ACME", "Amazon; Web", "pat"];

/** What may become of any script. */
const ANYWHERE: Rewrite[] = [
  [/\b(?:50\d0|1010|2100|4010)\b/g, (pick) => one(pick, ACCOUNTS)],
  [/"(?:auto-confirmed|pending-review)"/g, (pick) => JSON.stringify(one(pick, STATUSES))],
  [/(?<=text: )"[A-Z. ]+"/g, (pick) => one(pick, ['"BLUE"', '"COFFEE"', '"GITHUB"', '"COMCAST"', '"E"', '"ACME"'])],
  [/\b0\.\d+\b/g, (pick) => one(pick, ["0.1", "0.5", "0.85", "0.95", "0.99"])],
  [/"\d+\.\d\d"/g, (pick) => JSON.stringify(one(pick, AMOUNTS))],
  [/(?<=(?:vendor|counterparty|subject|text|to): )"[A-Za-z]+"/g, (pick) => JSON.stringify(one(pick, PAYEES))],
  [/\n(?=\(\{|const |[a-z]+_)/g, (pick) => one(pick, EXTRAS)],
  [/"[A-Z][A-Za-z ]+"/g, (pick, found) => (pick(2) === 0 ? `${found.slice(0, -1)} again"` : JSON.stringify(found.slice(1, 4)))],
  [/>=|<=|(?<![=<>-])[<>](?!=)/g, (pick) => one(pick, [">", ">=", "<", "<="])],
  [/\?\?|\|\||&&/g, (pick) => one(pick, ["||", "&&"])],
  [/\btrue\b|\bfalse\b/g, (pick) => one(pick, ["true", "false"])],
  [/\n *[a-z]+_[a-z_]+\([^\n]*\);(?=\n)/g, (pick, found) => one(pick, ["", found + found])],
];

/** What may become of a process that reads and writes with tools. */
const PROCESS: Rewrite[] = [
  ...ANYWHERE,
  [/ask: [^ }]+/g, (pick) => `ask: ${one(pick, ["true", "false", "!verdict.passed", "verdict.passed"])}`],
  [
    /(?<=title, )calls(?=, otherwise)/g,
    (pick) => one(pick, ["calls: [calls[1], calls[0]]", "calls: [calls[0]]", "calls: [calls[1]]", "calls: [...calls, calls[1]]"]),
  ],
  [
    /(?<!about: \{ invoice_id, amount: )\b(?:invoice|order|pay)\.amount/g,
    (pick) => one(pick, ["invoice.amount", "order.amount", "pay.amount", '"12.00"']),
  ],
  [
    /(?<=terms_match)(?= })/g,
    (pick) => one(pick, [", goods_received: false", ', variance_pct: "0.1"', ', vendor_status: "blocked"', ", duplicate: true"]),
  ],
  [/threshold_pct: 0/g, (pick) => one(pick, ["threshold_pct: 5", "threshold_pct: 1"])],
  [
    /(?<=invoice_id: )invoice_id|\{ invoice_id \}/g,
    (pick, found) => (found.startsWith("{") ? '{ invoice_id: "INV-2024-448" }' : one(pick, [`${found} `, '"INV-2024-448"'])),
  ],
  [/\.\.\.pay(?= \})/g, (pick) => one(pick, ['...pay, pay_date: "2024-12-01"', '...pay, amount: "1.00"', "...pay, amount: order.amount"])],
  [/(?<=\? )"approved"/g, (pick) => one(pick, ['"paid"', '""', "verdict.summary"])],
];

/** Further calls, put before a statement. */
const EXTRAS = [
  `\nctx_log("looked at");\n`,
  `\nctx_emit({ event: "looked", payload: { n: 1 } });\n`,
  `\njournal_add_double({ date: "2026-10-05", description: "Extra", debit_account: 5030, credit_account: 1010, amount: "3.00", key: "extra" });\n`,
  `\nqueue_add_review({ description: "Look here", confidence: 0.5 });\n`,
  `\njournal_add_double({ date: "2026-10-05", description: "With a payee", counterparty: "Eve | Sons", debit_account: 5030, credit_account: 1010, amount: "7.00", key: "payee", confidence: 0.4, note: "as told", evidence: "rule: EVE" });\n`,
  `\ndata_write({ path: "seen.txt", text: String(journal_query({ limit: 100 }).length) });\n`,
  `\ndata_write({ path: "balance.txt", text: JSON.stringify(journal_balance(1010)) });\n`,
  `\naudit_add({ subject: "Looked", text: "at " + ctx_today() });\n`,
  `\nnotify_send({ to: "pat", subject: "Looked", text: "at " + ctx_today(), channel: "page" });\n`,
  `\ngit_commit("agent: in between");\n`,
  `\nfor (const entry of journal_query({ limit: 2 })) journal_void({ entry_id: entry.entry_id, reason: "again" });\n`,
  `\nfor (const entry of journal_query({ status: "pending-review", limit: 3 })) journal_update_status({ entry_id: entry.entry_id, status: "auto-confirmed" });\n`,
  `\nfor (const entry of journal_query({ text: "COFFEE" })) queue_add_review({ entry_id: entry.entry_id, description: "Coffee?" });\n`,
  `\nif (accounts_exists(5099) || config_get("thresholds.auto_confirm") > 2) ctx_log("odd");\n`,
  `\nconst { shuffled } = { shuffled: Math.random() < 2 };\n`,
];

function rewritten(text: string, pick: (below: number) => number, rewrites: readonly Rewrite[]): string {
  const start = text.indexOf("*/\n") + 3;
  let now = text.slice(start);
  for (let times = 1 + pick(5); times > 0; ) {
    const [what, by] = one(pick, rewrites);
    const places = [...now.matchAll(what as RegExp)];
    if (places.length === 0) continue;
    const place = one(pick, places);
    now = now.slice(0, place.index) + by(pick, place[0]) + now.slice(place.index + place[0].length);
    times--;
  }
  return text.slice(0, start) + now;
}

/** What is compared: everything but the ids of runs and commits, who will approve, and what a tool would have said that nobody asked then. */
function told({ error, ...effects }: Effects, without: readonly (keyof Effects)[] = []): Record<string, unknown> {
  // A line of the audit record has an id of its own, which is also its file's name.
  const audit = Object.entries(effects.files).flatMap(([path, text]) => (path.startsWith("audit/") ? [text] : []));
  const files = Object.fromEntries(Object.entries(effects.files).filter(([path]) => !path.startsWith("audit/")));
  const kept = Object.fromEntries(
    Object.entries({ ...effects, files, audit, error: error?.code ?? null }).filter(([key]) => !without.includes(key as keyof Effects)),
  );
  const plain = canonicalJson(kept)
    .replaceAll(/run_[0-9A-Z]{14}/g, "RUN")
    .replaceAll(/\b[0-9a-f]{40}\b/g, "COMMIT")
    .replaceAll(/(?<=\\"id\\":\\")[0-9a-f]{16}/g, "ID")
    // Who will say yes is known to nobody before.
    .replaceAll(/(?<="approved_by":")[^"]*/g, "@approver");
  return sorted(JSON.parse(plain) as Record<string, unknown>);
}

const byText = (a: unknown, b: unknown): number => (canonicalJson(a) < canonicalJson(b) ? -1 : 1);
const sorted = (effects: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(effects).map(([key, value]) => [key, Array.isArray(value) && key !== "result" ? [...value].sort(byText) : value]),
  );

interface Course {
  at: Pick<Workspace, "read" | "commit">;
  opened: Host;
  agent: string;
  rewrites: readonly Rewrite[];
  /** The workspace again as it was before the run. */
  reset(): void;
  /** The agent's run to its end, everybody saying yes. */
  run(): Promise<RunRecord>;
  /** What of this run has reached somebody outside. */
  reached(run: RunRecord): Reached[];
}

async function compared(
  course: Course,
  rewrites: number,
  seed: number,
): Promise<{ tried: number; refused: number; missing: number; unforeseen: number; different: number; outcomes: Record<string, number> }> {
  const { at, opened, agent } = course;
  const file = `agents/${agent}.ts`;
  const text = at.read(file);
  const recording = (await recordingOf((await course.run()).id, opened)) as Recording;
  const was = await effectsOf(recording.run, recording.steps, opened.world);
  expect([was.outcome, was.entries.length + was.calls.length > 0]).toEqual(["completed", true]);
  const pick = random(seed);
  const counts = { tried: 0, refused: 0, missing: 0, unforeseen: 0, different: 0, outcomes: {} as Record<string, number> };
  // The books as they are at HEAD when a proposal is tried: with the recorded run in them.
  while (counts.tried < rewrites) {
    const now = rewritten(text, pick, course.rewrites);
    const head = opened.git.tree(await opened.git.head());
    const code = codeOver(head, new Map([[file, now]]));
    const findings = await findingsOf(code.tree, file, opened).catch((error: Error) => [error]);
    if (now === text || findings.length > 0) {
      counts.refused++;
      continue;
    }
    const trial = await tryRun(recording, code, opened);
    counts.tried++;
    if (trial.missing !== null) {
      counts.missing++;
      continue;
    }
    // Once it is known where the code parts from the recording, less of it is served; that changes nothing.
    expect(told((await tryRun(recording, code, opened)).effects)).toEqual(told(trial.effects));
    course.reset();
    at.commit({ [file]: now }, "agent: rewritten");
    const end = await course.run();
    const real = await effectsOf(end, await opened.engine.steps(end.id), opened.world);
    const simulates = trial.supposed.some((line) => line.includes(" answers "));
    if (simulates && real.error?.code.startsWith("TOOL_") === true) {
      // The tool says no to what nobody had asked it: up to there it is as predicted, and the prediction says what it supposed.
      const calls = new Set(trial.effects.calls.map((call) => canonicalJson(call)));
      expect(real.calls.filter((call) => !calls.has(canonicalJson(call)))).toEqual([]);
      counts.unforeseen++;
      continue;
    }
    const without: (keyof Effects)[] = trial.supposed.length > 0 ? ["result"] : [];
    expect({ now, ...told(trial.effects, without) }).toEqual({ now, ...told(real, without) });
    if (end.status === "done")
      expect({ now, ...predicted(trial.effects, "page") }).toEqual({ now, ...(await happened(opened, end, course.reached(end))) });
    if (canonicalJson(told(trial.effects)) !== canonicalJson(told(was))) counts.different++;
    const word = trial.effects.error?.code ?? trial.effects.outcome ?? "";
    counts.outcomes[word] = (counts.outcomes[word] ?? 0) + 1;
  }
  return counts;
}

/** Many rewrites change something, and most of what they change is foreseen. */
function expectEvidence({ tried, missing, unforeseen, different }: Awaited<ReturnType<typeof compared>>): void {
  expect(missing + unforeseen).toBeLessThan(tried / 3);
  expect(different).toBeGreaterThan(tried / 4);
}

const NOW = Date.UTC(2026, 10, 6, 12);

async function course(agent: string, files: Record<string, string>, loose: Record<string, string> = {}): Promise<Course> {
  const at = await workspace(files);
  const opened = await host(at, { clock: { now: () => NOW } });
  const base = at.git("rev-parse", "HEAD").trim();
  const place = () => {
    for (const [path, content] of Object.entries(loose)) at.write(path, content);
  };
  place();
  return {
    at,
    opened,
    agent,
    rewrites: ANYWHERE,
    reached: ({ id }) =>
      (existsSync(join(at.dir, ".cleared/bank.jsonl")) ? at.read(".cleared/bank.jsonl").trim().split("\n") : [])
        .map((line) => JSON.parse(line) as { what: string; key: string; params: Record<string, Json> })
        .filter(({ what, key }) => key.startsWith(`${id}/`) && !what.startsWith("rate"))
        .map(({ what, params }) => ({ tool: `bank_${what}`, params })),
    reset() {
      forget(opened);
      at.git("reset", "-q", "--hard", base);
      rmSync(join(at.dir, "import/processed"), { recursive: true, force: true });
      place();
    },
    async run() {
      const id = await start(opened, agent);
      let end = await opened.engine.result(id, { timeoutMs: 30_000 });
      while (end.status === "waiting") end = await decide(opened, id, "approved");
      return end;
    },
  };
}

// All 200 take two minutes of CPU: `npm run test:long -- truth`. Every run of the tests tries the first quarter of the same ones.
const share = (of: number): number => Math.ceil((of * (process.env["CLEARED_LONG"] === "1" ? 200 : 50)) / 200);

const NARROW = /uses: \[.*\]/;
const USES = "uses: [importer, journal, queue, git, config, ctx, data, audit, notify, accounts, bank, approval]";

test("ingest", async () => {
  const one = await workspace();
  const course_ = await course(
    "ingest",
    { "agents/ingest.ts": one.read("agents/ingest.ts").replace(NARROW, USES) },
    { "import/october.csv": STATEMENT },
  );
  expectEvidence(await compared(course_, share(80), 1));
  await closeAll();
});

test("an agent that asks, pays and notifies", async () => {
  const text = `${header("").replace(NARROW, USES)}
const rate = bank_rate({ day: "one", failures: 0 }).rate;
const payment = { to: "ACME", amount: "120.00" };
const second = { to: "ACME", amount: "20.00" };
const made = journal_add_double({ date: "2026-10-06", description: "Invoice of ACME", counterparty: "ACME", note: "by mail", confidence: 0.8, debit_account: 5030, credit_account: 2100, amount: "120.00", key: "invoice-7", status: "pending-review" });
queue_add_review({ entry_id: "pending", description: "ACME?", confidence: 0.5 });
git_commit("import: invoice 7");
const answer = approval_wait({ title: "Pay ACME?", calls: [{ tool: "bank_pay", params: payment }, { tool: "bank_pay", params: second }] });
const isPaid = answer.decision === "approved" && true;
if (isPaid) bank_pay(payment);
if (isPaid) bank_pay(second);
journal_add_double({ date: "2026-10-07", description: "Paid", debit_account: 2100, credit_account: 1010, amount: "120.00", key: "payment-7", status: "auto-confirmed" });
journal_update_status({ entry_id: made.entry_id, status: "auto-confirmed" });
notify_send({ to: "pat", subject: "Paid", text: "at " + rate, channel: "page" });
audit_add({ subject: "ACME", text: "Paid" });
({ isPaid, rate, known: made.known })
`;
  expectEvidence(await compared(await course("payer", { "agents/payer.ts": text }), share(60), 2));
  await closeAll();
});

test("invoice reconciliation, on the demo business", async () => {
  const business = await demo();
  const pristine = join(business.dir, ".cleared/pristine.db");
  openBusiness(pristine).close();
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Pat", "-c", "user.email=pat@example.com", ...args], { cwd: business.dir, encoding: "utf8" });
  const base = git("rev-parse", "HEAD").trim();
  const course: Course = {
    at: {
      read: (path) => readFileSync(join(business.dir, path), "utf8"),
      commit(files) {
        for (const [path, text] of Object.entries(files)) writeFileSync(join(business.dir, path), text);
        git("commit", "-qam", "agent: rewritten");
        return git("rev-parse", "HEAD").trim();
      },
    },
    opened: business.host,
    agent: "invoice_reconciliation",
    rewrites: PROCESS,
    reached: () =>
      rows(business, "select tool, params from change_log order by seq").map(({ tool, params }) => ({
        tool: `erp/${String(tool)}`,
        params: JSON.parse(String(params)) as Record<string, Json>,
      })),
    reset() {
      forget(business.host);
      git("reset", "-q", "--hard", base);
      restore(join(business.dir, ".cleared/erp.db"), pristine);
    },
    async run() {
      let end = await runAgent(business, "invoice_reconciliation", { invoice_id: "INV-2024-447" });
      while (end.status === "waiting") end = await answer(business, end);
      return end;
    },
  };
  expectEvidence(await compared(course, share(60), 8));
  await finish();
});

/** A card that is open already is not opened twice, whoever asks. */
const forget = ({ database }: Host): void => void database.write(() => database.run("DELETE FROM cards"));

/** The rows of a business as another file has them, under the server that has it open. */
function restore(file: string, from: string): void {
  const db = new DatabaseSync(file, { timeout: 10_000 });
  db.exec(`ATTACH '${from}' AS first`);
  const tables = db.prepare("SELECT name FROM first.sqlite_master WHERE type = 'table'").all() as { name: string }[];
  db.exec(
    `BEGIN IMMEDIATE; ${tables.map(({ name }) => `DELETE FROM main.${name}; INSERT INTO main.${name} SELECT * FROM first.${name};`).join(" ")} COMMIT`,
  );
  db.close();
}
