/**
 * Workspaces for the engine tests: made once by initWorkspace, copied for each test, opened by openHost. A host can be stopped the hard
 * way (store closed under it, lease left behind as by a dead process), and what a run left behind can be compared with another's.
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createApi } from "../../runtime/app/api.ts";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Host } from "../../runtime/app/host.ts";
import { type HostOptions, openHost } from "../../runtime/app/open-host.ts";
import type { Card, Decision, Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { initWorkspace } from "../../runtime/workspace/init.ts";
import { sealerOf } from "../../runtime/workspace/settings/confirmation.ts";
import { confirm } from "../confirm.ts";
import { madeOnce } from "../made-once.ts";
import { AGENTS, BANK } from "./plugins.ts";

process.env["GIT_CONFIG_GLOBAL"] = "/dev/null";
const GIT_ENV = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null", LC_ALL: "C" };
const root = realpathSync(mkdtempSync(join(tmpdir(), "cleared-engine-")));
let made: Promise<string> | null = null;
let count = 0;

export interface Workspace {
  dir: string;
  git(...args: string[]): string;
  write(path: string, text: string): void;
  read(path: string): string;
  /** Writes the files and commits them as the user. Answers the commit. */
  commit(files: Record<string, string>, message?: string): string;
  /** What reached the bank, by kind of call. */
  bank(): string[];
}

/** A fresh workspace with the bank plugin and its agents, all committed. `files` are written and committed on top. */
export async function workspace(files: Record<string, string> = {}): Promise<Workspace> {
  made ??= madeOnce("engine", makeTemplate);
  const dir = join(root, `w${++count}`);
  cpSync(await made, dir, { recursive: true, verbatimSymlinks: true });
  const one = handle(dir);
  if (Object.keys(files).length > 0) one.commit(files);
  return one;
}

/** An exact copy, store and all. */
export function copyOf(source: Pick<Workspace, "dir">, place = root): Workspace {
  const dir = join(place, `w${++count}`);
  cpSync(source.dir, dir, { recursive: true, verbatimSymlinks: true });
  return handle(dir);
}

/** The same, its runs started there: a template is no other folder of theirs. */
export function madeOf(source: Pick<Workspace, "dir">, place = root): Workspace {
  const one = copyOf(source, place);
  confirm(one.dir);
  const seal = sealerOf(one.dir);
  withStore(one.dir, (db) => {
    const set = db.prepare("INSERT OR REPLACE INTO facts VALUES (?, ?)");
    for (const { id } of db.prepare("SELECT id FROM runs").all() as { id: string }[]) set.run(`history of ${id}/here`, seal("begun", id));
  });
  return one;
}

async function makeTemplate(dir: string): Promise<void> {
  await initWorkspace(dir, { name: "Acme", from: join(import.meta.dirname, "../.."), person: "Pat" });
  const one = handle(dir);
  one.git("config", "user.name", "Pat");
  one.git("config", "user.email", "pat@example.com");
  const trust = one.read("trust.yaml").replace(/^plugins: \[\].*$/m, "plugins: [plugins/bank.ts]");
  const config = one.read("config.yaml").replace(/settle_seconds: \d+/, "settle_seconds: 0");
  one.commit({ ...AGENTS, "plugins/bank.ts": BANK, "trust.yaml": trust, "config.yaml": config }, "agent: tests");
  one.git("gc", "-q");
  rmSync(join(dir, ".git/hooks"), { recursive: true, force: true });
}

function handle(dir: string): Workspace {
  const one: Workspace = {
    dir,
    git: (...args) => execFileSync("git", args, { cwd: dir, env: GIT_ENV, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }),
    write(path, text) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    },
    read: (path) => readFileSync(join(dir, path), "utf8"),
    commit(files, message = "edit: by hand") {
      for (const [path, text] of Object.entries(files)) one.write(path, text);
      one.git("add", "--", ...Object.keys(files));
      one.git("commit", "-q", "-m", message);
      return one.git("rev-parse", "HEAD").trim();
    },
    bank() {
      const file = join(dir, ".cleared/bank.jsonl");
      if (!existsSync(file)) return [];
      return readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { what: string }).what);
    },
  };
  return one;
}

const open = new Set<Host>();
const closed = new WeakSet<Host>();

/** An owner of the workspace; closed after the test at the latest. Errors outside runs are kept, not printed. */
export async function host(one: Workspace, options: Partial<HostOptions> = {}): Promise<Host> {
  confirm(one.dir);
  const opened = await openHost(one.dir, { mode: "owner", onError: () => undefined, ...options });
  open.add(opened);
  return opened;
}

export async function close(opened: Host): Promise<void> {
  open.delete(opened);
  if (closed.has(opened)) return;
  closed.add(opened);
  await opened.close();
}

/** For who comes after an owner that died: the time in which that one's calls may still happen is over. */
export const LATER = { now: () => Date.now() + 11_000 };

/** The owner stops like a process that was killed: nothing is finished, the lease stays, held by a process that does not exist. */
export async function abandon(opened: Host): Promise<void> {
  opened.database.db.close();
  makeOwnerDead(opened.dir);
  await close(opened).catch(() => undefined);
}

export function makeOwnerDead(dir: string): void {
  withStore(dir, (db) => db.exec("UPDATE lease SET owner = '4194304:1/gone', pid = 4194304"));
}

export function withStore<T>(dir: string, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dir, ".cleared/store.db"), { timeout: 10_000 });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

export function remove(one: Workspace): void {
  rmSync(one.dir, { recursive: true, force: true });
}

/** For afterEach and afterAll. */
export async function closeAll(): Promise<void> {
  for (const opened of [...open]) await close(opened).catch(() => undefined);
}

export async function removeAll(): Promise<void> {
  await closeAll();
  rmSync(root, { recursive: true, force: true });
}

let keys = 0;

export async function start(opened: Host, agent: string, input: Json = {}, key = `test-${++keys}`): Promise<string> {
  return (await opened.start(agent, { cause: { kind: "command", key }, input })).id;
}

/** Starts an agent and waits until it has ended or waits. */
export async function run(opened: Host, agent: string, input: Json = {}): Promise<RunRecord> {
  return opened.engine.result(await start(opened, agent, input), { timeoutMs: 100_000 });
}

/** Decides the run's open gate as the workspace's person and waits for the run to rest again. */
export async function decide(opened: Host, id: string, decision: Decision["decision"], more: Partial<Decision> = {}): Promise<RunRecord> {
  const card = openCard(opened, id);
  await decideCard(opened, signAs(opened.dir, opened.trust, { ...asked(card), decision, at: opened.clock.now(), ...more }));
  return opened.engine.result(id, { timeoutMs: 100_000 });
}

/** The workspace's person says so, as the payload of a signal. */
export function signed(opened: Host, run: string, gate: string | null, decision: Decision["decision"] = "approved"): Json {
  return signAs(opened.dir, opened.trust, { card: 0, gate: `${run}/${gate}`, decision, at: 1 }) as unknown as Json;
}

export function openCard(opened: Host, id: string): Card {
  const card = opened.cards.list({ open: true, run: id }).find((one) => one.gate !== null);
  if (card === undefined) throw new Error(`${id} has no open gate`);
  return card;
}

/** Numbers of the run's events; gapless is 1..n. Also the kinds, in order. */
export async function eventsOf(opened: Host, id: string): Promise<{ numbers: number[]; kinds: string[] }> {
  const numbers: number[] = [];
  const kinds: string[] = [];
  for await (const event of opened.engine.events(id, 1)) {
    numbers.push(event.seq);
    kinds.push(event.type);
  }
  return { numbers, kinds };
}

export const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

/** Everything a run left behind that must not depend on where it was stopped. Run ids are replaced by the word RUN. */
export async function traces(one: Workspace, opened: Host, id: string): Promise<Json> {
  const plain = (text: string) => text.replaceAll(/run_[0-9A-Z]{14}/g, "RUN");
  const record = await opened.engine.get(id);
  const { numbers } = await eventsOf(opened, id);
  const tree = Object.fromEntries(
    one
      .git("ls-tree", "-r", "--name-only", "HEAD")
      .trim()
      .split("\n")
      .filter((path) => /journal|^import\/|^data\//.test(path))
      .map((path) => [path, plain(one.git("show", `HEAD:${path}`))]),
  );
  return {
    status: record?.status ?? null,
    outcome: record?.outcome ?? null,
    result: record?.result ?? null,
    error: record?.error?.code ?? null,
    tree,
    balances: Object.fromEntries((await createApi(opened).balances()).map(({ account, balance }) => [account.name, balance])),
    subjects: one.git("log", "--format=%s").trim().split("\n"),
    status_of_files: one.git("status", "--porcelain"),
    statements: existsSync(join(one.dir, "import"))
      ? readdirSync(join(one.dir, "import"), { recursive: true })
          .map(String)
          .filter((name) => statSync(join(one.dir, "import", name)).isFile())
          .sort()
      : [],
    bank: one.bank(),
    cards: opened.cards
      .list()
      .filter((card) => card.kind !== "in_doubt")
      .map((card) => plain(JSON.stringify([card.kind, card.key, card.title, card.body, card.decision?.decision ?? null])))
      .sort(),
    emitted: opened
      .emitted()
      .map((event) => plain(JSON.stringify([event.key, event.event, event.payload])))
      .sort(),
    steps: (await opened.engine.steps(id)).map((step) => `${step.seq} ${step.name} ${step.state}`),
    gapless: numbers.every((number, i) => number === i + 1),
  };
}
