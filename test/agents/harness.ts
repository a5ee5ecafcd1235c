/**
 * The demo business as a user has it: the workspace `cleared demo erp` makes, with three people, opened by openHost; its tool server is
 * the real one, over stdio, on a database of the test file. Runs are started as Pat and decided by Mo or Lee.
 */
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { demo } from "../../runtime/cli/commands/init.ts";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Host } from "../../runtime/app/host.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { editCalls } from "../../runtime/rules/edits.ts";
import type { Card, Json, RunRecord, VerifiedWrite } from "../../runtime/kernel/ports.ts";
import { confirm } from "../confirm.ts";

const as = (text: string): string => text;
const nothing = (): void => undefined;
const SILENT = { json: true, line: nothing, lines: nothing, rows: nothing, text: nothing, result: nothing, note: nothing, bold: as, dim: as, green: as, red: as, yellow: as };
const PEOPLE = ["Mo", "Lee"] as const;
type Person = (typeof PEOPLE)[number];
/** The highest rank and every role: what a level demands is tried elsewhere. */
const ROLES = "[board, hr, finance, committee, legal]";

process.env["GIT_CONFIG_GLOBAL"] = "/dev/null";
const root = realpathSync(mkdtempSync(join(tmpdir(), "cleared agents ")));
const opened = new Set<Host>();
let keys = 0;

export interface Business {
  dir: string;
  host: Host;
}

/** A workspace of its own, made by the command, with the people and whatever else a test puts into trust.yaml. */
export async function business(change: (trust: string) => string = (trust) => trust): Promise<Business> {
  const dir = join(root, `demo ${++keys}`);
  await demo({ output: SILENT, given: undefined, dir, commands: [] }, ["erp", dir], { person: "Pat" });
  const lines = PEOPLE.map((name) => {
    const pair = generateKeyPairSync("ed25519");
    writeFileSync(join(dir, `.cleared/${name}.key`), pair.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    return `  - {name: ${name}, key: "${pair.publicKey.export({ type: "spki", format: "der" }).toString("base64")}", roles: ${ROLES}, ids: {erp: ${name}}}\n`;
  });
  const file = join(dir, "trust.yaml");
  const trust = readFileSync(file, "utf8").replace(/^people:\n(?: {2}.*\n)+/m, (people) => people + lines.join(""));
  writeFileSync(file, change(trust));
  execFileSync("git", ["-c", "user.name=Pat", "-c", "user.email=pat@example.com", "commit", "-qam", "trust: three people"], { cwd: dir });
  return { dir, host: await open(dir) };
}

/** How far the clock of the owners stands before the machine's, ms; for what nobody answers in time. */
let ahead = 0;
export const wait = (ms: number): void => void (ahead += ms);

export async function open(dir: string): Promise<Host> {
  confirm(dir);
  const host = await openHost(dir, { mode: "owner", onError: () => undefined, clock: { now: () => Date.now() + ahead } });
  opened.add(host);
  return host;
}

export async function shut(host: Host): Promise<void> {
  if (opened.delete(host)) await host.close();
}

/** For afterAll. */
export async function finish(): Promise<void> {
  for (const host of [...opened]) await shut(host);
  rmSync(root, { recursive: true, force: true });
}

/** A copy of a workspace nobody has open, with its database. */
export function copyOf(dir: string): string {
  const to = join(root, `copy ${++keys}`);
  cpSync(dir, to, { recursive: true, verbatimSymlinks: true });
  return to;
}

/** Starts an agent as Pat and waits until it rests. */
export async function run({ host }: Business, agent: string, input: Json = {}): Promise<RunRecord> {
  const { id } = await host.start(agent, { cause: { kind: "command", key: `test-${++keys}` }, input, by: "Pat" });
  return host.engine.result(id, { timeoutMs: 100_000 });
}

export function gateOf({ host }: Business, { id }: RunRecord): Card {
  const card = host.cards.list({ open: true, run: id }).find((one) => one.gate !== null);
  if (card === undefined) throw new Error(`${id} has no open gate`);
  return card;
}

/** One person's answer at the run's gate; the run as it rests afterwards. */
export async function answer(
  at: Business,
  { id }: RunRecord,
  decision: "approved" | "rejected" = "approved",
  by: Person | "Pat" = "Mo",
  /** Parameters of the calls to change, by path. */
  sets: Readonly<Record<string, string>> = {},
  reason?: string,
): Promise<RunRecord> {
  const card = gateOf(at, { id } as RunRecord);
  const said = Object.keys(sets).length === 0 ? { decision } : { decision: "edited" as const, calls: editCalls(card.calls, sets) };
  const before = process.env["CLEARED_KEY"];
  if (by !== "Pat") process.env["CLEARED_KEY"] = join(at.dir, `.cleared/${by}.key`);
  try {
    await decideCard(at.host, signAs(at.dir, at.host.trust, { ...asked(card), ...said, ...(reason === undefined ? {} : { reason }), at: at.host.clock.now() }));
  } finally {
    if (before === undefined) delete process.env["CLEARED_KEY"];
    else process.env["CLEARED_KEY"] = before;
  }
  return at.host.engine.result(id, { timeoutMs: 100_000 });
}

/** The run to its end, everybody saying yes. Answers the end and how many gates there were. */
export async function approved(
  at: Business,
  agent: string,
  input: Json,
): Promise<{ end: RunRecord; gates: number; writes: VerifiedWrite[] }> {
  let end = await run(at, agent, input);
  let gates = 0;
  for (; end.status === "waiting" && gates < 20; gates++) end = await answer(at, end, "approved", gates % 2 === 0 ? "Mo" : "Lee");
  expect([end.error?.message ?? null, end.status]).toEqual([null, "done"]);
  return { end, gates, writes: await writesOf(at, end) };
}

export async function writesOf({ host }: Business, { id }: RunRecord): Promise<VerifiedWrite[]> {
  const steps = await host.engine.steps(id);
  return steps.flatMap((step) => step.changes.flatMap((change) => (change.op === "verified" ? [change.write] : [])));
}

export const statusesOf = (writes: readonly VerifiedWrite[]): string[] => [...new Set(writes.map((one) => one.status))];

/** Rows of the business's own database, past the tools. */
export function rows({ dir }: Business, query: string): Record<string, Json>[] {
  const file = join(dir, ".cleared/erp.db");
  if (!existsSync(file)) return [];
  const db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    return db.prepare(query).all() as Record<string, Json>[];
  } finally {
    db.close();
  }
}

/** Changes the business's database past its tools, as another system would. */
export function change({ dir }: Business, statement: string): void {
  const db = new DatabaseSync(join(dir, ".cleared/erp.db"), { timeout: 10_000 });
  db.exec(statement);
  db.close();
}

/** What the business has carried out, oldest first, by its own log. */
export function changes(at: Business): string[] {
  // Its server may be making it at the moment.
  if (rows(at, "select name from sqlite_master where name = 'change_log'").length === 0) return [];
  return rows(at, "select tool from change_log order by seq").map((one) => String(one["tool"]));
}
