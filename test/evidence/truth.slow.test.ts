/**
 * The evidence is true: what a trial of a seeded, random rewrite predicts equals what happens when the same input runs on the rewritten
 * code in the workspace as it was before the recorded run. Limits: what a tool nobody called then would answer, and ids of runs and commits.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { findingsOf } from "../../runtime/cli/check-source.ts";
import type { Host } from "../../runtime/cli/host.ts";
import { canonicalJson } from "../../runtime/engine/canonical.ts";
import { recordingOf } from "../../runtime/evidence/backtest.ts";
import { effectsOf } from "../../runtime/evidence/effects.ts";
import { codeOver } from "../../runtime/evidence/reached.ts";
import { tryRun } from "../../runtime/evidence/trial.ts";
import type { Effects, Recording } from "../../runtime/evidence/types.ts";
import type { RunRecord } from "../../runtime/ports.ts";
import { STATEMENT } from "../engine/plugins.ts";
import { type Workspace, closeAll, decide, host, removeAll, start, workspace } from "../engine/harness.ts";
import { header } from "./trials.ts";

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

/** What may become of any script. */
const ANYWHERE: Rewrite[] = [
  [/\b(?:50\d0|1010|2100|4010)\b/g, (pick) => one(pick, ACCOUNTS)],
  [/"(?:auto-confirmed|pending-review)"/g, (pick) => JSON.stringify(one(pick, STATUSES))],
  [/(?<=text: )"[A-Z. ]+"/g, (pick) => one(pick, ['"BLUE"', '"COFFEE"', '"GITHUB"', '"COMCAST"', '"E"', '"ACME"'])],
  [/\b0\.\d+\b/g, (pick) => one(pick, ["0.1", "0.5", "0.85", "0.95", "0.99"])],
  [/"\d+\.\d\d"/g, (pick) => JSON.stringify(one(pick, AMOUNTS))],
  [/\n(?=\(\{|const |[a-z]+_)/g, (pick) => one(pick, EXTRAS)],
  [/"[A-Z][A-Za-z ]+"/g, (pick, found) => (pick(2) === 0 ? `${found.slice(0, -1)} again"` : JSON.stringify(found.slice(1, 4)))],
  [/>=|<=|(?<![=<>-])[<>](?!=)/g, (pick) => one(pick, [">", ">=", "<", "<="])],
  [/\?\?|\|\||&&/g, (pick) => one(pick, ["||", "&&"])],
  [/\btrue\b|\bfalse\b/g, (pick) => one(pick, ["true", "false"])],
  [/\n *[a-z]+_[a-z_]+\([^\n]*\);(?=\n)/g, (pick, found) => one(pick, ["", found + found])],
];

/** Further calls, put before a statement. */
const EXTRAS = [
  `\nctx_log("looked at");\n`,
  `\nctx_emit({ event: "looked", payload: { n: 1 } });\n`,
  `\njournal_add_double({ date: "2026-10-05", description: "Extra", debit_account: 5030, credit_account: 1010, amount: "3.00", key: "extra" });\n`,
  `\nqueue_add_review({ description: "Look here", confidence: 0.5 });\n`,
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

function rewritten(text: string, pick: (below: number) => number): string {
  const start = text.indexOf("*/\n") + 3;
  let now = text.slice(start);
  for (let times = 1 + pick(5); times > 0; ) {
    const [what, by] = one(pick, ANYWHERE);
    const places = [...now.matchAll(what as RegExp)];
    if (places.length === 0) continue;
    const place = one(pick, places);
    now = now.slice(0, place.index) + by(pick, place[0]) + now.slice(place.index + place[0].length);
    times--;
  }
  return text.slice(0, start) + now;
}

/** What is compared: everything but the ids of runs and commits, and what a tool would have said that nobody asked then. */
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
    .replaceAll(/(?<=\\"id\\":\\")[0-9a-f]{16}/g, "ID");
  return sorted(JSON.parse(plain) as Record<string, unknown>);
}

const byText = (a: unknown, b: unknown): number => (canonicalJson(a) < canonicalJson(b) ? -1 : 1);
const sorted = (effects: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(effects).map(([key, value]) => [key, Array.isArray(value) && key !== "result" ? [...value].sort(byText) : value]),
  );

interface Course {
  at: Workspace;
  opened: Host;
  agent: string;
  /** The workspace again as it was before the run. */
  reset(): void;
  /** The agent's run to its end, everybody saying yes. */
  run(): Promise<RunRecord>;
}

async function compared(
  course: Course,
  rewrites: number,
  seed: number,
): Promise<{ tried: number; refused: number; missing: number; different: number; outcomes: Record<string, number> }> {
  const { at, opened, agent } = course;
  const file = `agents/${agent}.ts`;
  const text = at.read(file);
  const recording = (await recordingOf((await course.run()).id, opened)) as Recording;
  expect([recording.run.status, recording.steps.some((step) => step.changes.some((change) => change.op === "entries"))]).toEqual([
    "done",
    true,
  ]);
  const was = await effectsOf(recording.run, recording.steps, opened.world);
  const pick = random(seed);
  const counts = { tried: 0, refused: 0, missing: 0, different: 0, outcomes: {} as Record<string, number> };
  // The books as they are at HEAD when a proposal is tried: with the recorded run in them.
  while (counts.tried < rewrites) {
    const now = rewritten(text, pick);
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
    course.reset();
    at.commit({ [file]: now }, "agent: rewritten");
    const end = await course.run();
    const real = await effectsOf(end, await opened.engine.steps(end.id), opened.world);
    const without: (keyof Effects)[] = trial.supposed.some((line) => line.includes(" answers ")) ? ["result"] : [];
    expect({ now, ...told(trial.effects, without) }).toEqual({ now, ...told(real, without) });
    if (canonicalJson(told(trial.effects)) !== canonicalJson(told(was))) counts.different++;
    const word = trial.effects.error?.code ?? trial.effects.outcome ?? "";
    counts.outcomes[word] = (counts.outcomes[word] ?? 0) + 1;
  }
  return counts;
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
    reset() {
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

const NARROW = /uses: \[.*\]/;
const USES = "uses: [importer, journal, queue, git, config, ctx, data, audit, notify, accounts, bank, approval]";

test("ingest", { timeout: 300_000 }, async () => {
  const one = await workspace();
  const course_ = await course(
    "ingest",
    { "agents/ingest.ts": one.read("agents/ingest.ts").replace(NARROW, USES) },
    { "import/october.csv": STATEMENT },
  );
  console.log(await compared(course_, 80, 1));
  await closeAll();
});

test("an agent that asks, pays and tells", { timeout: 300_000 }, async () => {
  const text = `${header("").replace(NARROW, USES)}
const rate = bank_rate({ day: "one", failures: 0 }).rate;
const payment = { to: "ACME", amount: "120.00" };
const made = journal_add_double({ date: "2026-10-06", description: "Invoice of ACME", debit_account: 5030, credit_account: 2100, amount: "120.00", key: "invoice-7", status: "pending-review" });
queue_add_review({ entry_id: "pending", description: "ACME?", confidence: 0.5 });
git_commit("import: invoice 7");
const answer = approval_wait({ title: "Pay ACME?", calls: [{ tool: "bank_pay", params: payment }] });
const isPaid = answer.decision === "approved" && true;
if (isPaid) bank_pay(payment);
journal_add_double({ date: "2026-10-07", description: "Paid", debit_account: 2100, credit_account: 1010, amount: "120.00", key: "payment-7", status: "auto-confirmed" });
journal_update_status({ entry_id: made.entry_id, status: "auto-confirmed" });
notify_send({ to: "pat", subject: "Paid", text: "at " + rate, channel: "page" });
audit_add({ subject: "ACME", text: "Paid" });
({ isPaid, rate, known: made.known })
`;
  console.log(await compared(await course("payer", { "agents/payer.ts": text }), 60, 2));
  await closeAll();
});
