/**
 * A day of a small business under a real `cleared start`: what people and the bank do, each act repeated until it is done, as a person does
 * who finds the computer just started again.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asked } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { readLocal } from "../../runtime/app/local.ts";
import { withStore } from "../../runtime/app/look.ts";
import { noteStarter } from "../../runtime/app/marks.ts";
import { connectSocket } from "../../runtime/app/socket.ts";
import type { Card, Decision, Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { payAgent, STATEMENT } from "../engine/plugins.ts";
import { copyOf, type Workspace, workspace } from "../engine/harness.ts";
import { confirm } from "../confirm.ts";
import { madeOnce } from "../made-once.ts";
import { patiently } from "../patience.ts";
import { BANK } from "./bank.ts";
import { acts } from "./left.ts";
import { below } from "./processes.ts";

const ROOT = join(import.meta.dirname, "../..");
const ENV = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C.UTF-8", TZ: "UTC" };
export const sleep = (ms: number): Promise<void> => new Promise((next) => setTimeout(next, ms));

const HELLO = (word: string): string => `/*\nname: Hello\nuses: [ctx]\n*/\nctx_log("${word}");\n"${word}";\n`;
const SEPTEMBER = STATEMENT.replaceAll("/2026", "/2025");

/** Runs that wait for a yes to pay, entries to confirm, a run to undo; and a store that knows all of it. */
export async function prepareDay(): Promise<Workspace> {
  const dir = await madeOnce("day", async (place) => cpSync((await prepared()).dir, place, { recursive: true, verbatimSymlinks: true }));
  return copyOf({ dir });
}

async function prepared(): Promise<Workspace> {
  const one = await workspace();
  const config = one.read("config.yaml").replace(/port: \d+/, "port: 0");
  one.commit({
    "config.yaml": config.replace(/settle_seconds: \d+/, "settle_seconds: 0.5"),
    "plugins/bank.ts": BANK,
    "agents/hello.ts": HELLO("hello"),
    // Each in a month of its own, so that what one books is in no other one's way.
    "agents/pay.ts": payAgent("bank_pay"),
    "agents/send.ts": payAgent("bank_send")
      .replaceAll("2026-11", "2026-12")
      .replaceAll("invoice-7", "invoice-8")
      .replaceAll("payment-7", "payment-8"),
    "agents/wire.ts": payAgent("bank_wire")
      .replaceAll("2026-11", "2027-01")
      .replaceAll("invoice-7", "invoice-9")
      .replaceAll("payment-7", "payment-9"),
  });
  one.write("import/september.csv", SEPTEMBER);
  const day = await open(one, ["--accept-trust"]);
  for (const agent of ["pay", "send", "wire", "book"]) await day.call("run", { agent, input: {}, wait: true });
  // Asked about once the owner has looked at the books; a drill that undoes it must find the question.
  await day.until(() => !existsSync(join(one.dir, "import/september.csv")) && day.cards().some(({ title }) => title === "Booked one"));
  await day.stop();
  return one;
}

/** What a day consists of; by name, so that a drill can hold a part of it. */
export const ACTS = {
  async import(day: Day) {
    await day.put("chase.csv", STATEMENT);
    await day.until(() => existsSync(join(day.dir, "import/processed/chase.csv")));
  },
  async confirm(day: Day) {
    const entries = day.cards().filter((one) => one.kind === "entry");
    for (const card of entries.slice(0, 2)) await day.decide(card, "approved");
  },
  pay: (day: Day) => approveRun(day, "pay"),
  send: (day: Day) => approveRun(day, "send"),
  wire: (day: Day) => approveRun(day, "wire"),
  async undo(day: Day) {
    const [run] = await day.runs("book");
    await day.repeat(async () => {
      const { code, said } = await day.command("undo", run?.id ?? "", "--yes");
      return code === 0 || /undone already|taken back/i.test(said);
    });
    await day.until(() => day.cards(true).some((card) => card.title === "Booked one" && card.decision !== null));
  },
  async propose(day: Day) {
    const proposed = () => day.cards(true).find((card) => card.kind === "proposal");
    await day.repeat(async () => {
      if (proposed() !== undefined) return true;
      day.one.write("agents/hello.ts", HELLO("good day"));
      await day.command("propose", "-m", "Say good day");
      return false;
    });
    await day.until(() => day.cards().some((card) => card.kind === "proposal"));
    const card = proposed();
    if (card !== undefined) await day.decide(card, "approved");
    await day.until(() => /applied/.test(JSON.stringify(proposed()?.body)));
  },
} as const;
export type Act = keyof typeof ACTS;

async function approveRun(day: Day, agent: string): Promise<void> {
  const [run] = await day.runs(agent);
  const card = day.cards(true).find((one) => one.run === run?.id && one.kind === "approval");
  if (card !== undefined) await day.decide(card, "approved");
  await day.until(async () => (await day.runs(agent))[0]?.status === "done");
}

export interface Day {
  one: Workspace;
  dir: string;
  /** Of the launcher; another one after it was started again. */
  pid(): number;
  /** Everybody that was ever seen to belong to it. */
  family: Set<number>;
  /** Nobody answers what cannot be known yet: a stopped process may still go on. */
  careful: { until: Promise<unknown> };
  said(): string;
  /** It watches: not only its socket answers, which the one before it may still serve. */
  ready(): boolean;
  put(name: string, text: string): Promise<void>;
  call(method: string, params: unknown): Promise<unknown>;
  command(...args: string[]): Promise<{ code: number | null; said: string }>;
  cards(all?: boolean): Card[];
  /** Of all agents unless told, the last one first. */
  runs(agent?: string): Promise<RunRecord[]>;
  decide(card: Card, decision: Decision["decision"], result?: Json): Promise<void>;
  repeat(done: () => Promise<boolean>): Promise<void>;
  /** Waits, and meanwhile does what somebody has to: starts Cleared again where it has ended, looks at the bank where it asks. */
  until(met: () => boolean | Promise<boolean>): Promise<void>;
  stop(): Promise<void>;
}

const PATIENCE_MS = 120_000;
const running = new Set<ChildProcess>();

/** For afterAll. */
export function killAll(): void {
  for (const child of running) {
    for (const pid of [child.pid ?? 0, ...below(child.pid ?? 0)]) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // ended by itself
      }
    }
  }
}

function launch(dir: string, args: string[], hear: (text: string) => void): ChildProcess {
  // Both streams by one pipe: on a busy machine two are heard in another order than they were written.
  const line = ["-c", 'exec "$0" "$@" 2>&1', process.execPath, join(ROOT, "bin/cleared.js"), ...args];
  const child = spawn("sh", line, { cwd: dir, env: ENV, stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  child.once("exit", () => running.delete(child));
  child.stdout?.on("data", (text) => hear(String(text)));
  return child;
}

/** Opens the day: `cleared start`, and whoever has to do with it. */
export async function open(
  one: Workspace,
  options: string[] = [],
  writer: (file: string, text: string) => Promise<void> = put,
): Promise<Day> {
  const { dir } = one;
  confirm(dir);
  await noteStarter(dir); // A copy does not believe the cache it came with: the owner would check every agent again.
  let said = "";
  let owner: ChildProcess | null = null;
  let stopping = false;
  const family = new Set<number>();
  const ended = (child: ChildProcess | null) => child === null || child.exitCode !== null || child.signalCode !== null;
  const keepUp = () => {
    if (ended(owner) && !stopping) {
      ready = false;
      let heard = "";
      const mine = launch(dir, ["start", ...options], (text) => {
        [said, heard] = [said + text, heard + text];
        if (owner === mine) ready = heard.lastIndexOf("Ctrl-C stops") > heard.lastIndexOf("It goes on here");
      });
      owner = mine;
    }
    if (owner?.pid !== undefined && counted++ % 5 === 0) for (const pid of [owner.pid, ...below(owner.pid)]) family.add(pid);
  };
  /** What a person does who reads why a proposal cannot be approved now. */
  const asTold = async (why: string): Promise<void> => {
    const unchecked = /`cleared (proposals check \d+)`/.exec(why)?.[1];
    if (unchecked !== undefined) await day.command(...unchecked.split(" "));
    // The edit was made once more because nobody had heard of its proposal yet.
    if (why.includes("has uncommitted edits of yours"))
      await Promise.resolve()
        .then(() => one.git("checkout", "-q", "HEAD", "--", "agents/hello.ts"))
        .catch(() => undefined);
  };
  let known: Card[] = [];
  let counted = 0;
  let ready = false;
  const day: Day = {
    one,
    dir,
    family,
    careful: { until: Promise.resolve() },
    pid: () => owner?.pid ?? 0,
    said: () => said,
    ready: () => ready,
    put: (name, text) => writer(join(dir, "import", name), text),
    async call(method, params) {
      for (const end = Date.now() + patiently(PATIENCE_MS); ; ) {
        keepUp();
        const owned = await connectSocket(dir);
        try {
          if (owned !== null) return await owned.call(method, params);
        } catch (error) {
          if ((error as { code?: string }).code !== "OWNER_BUSY" && (error as { code?: string }).code !== "OWNER_FENCED") throw error;
        } finally {
          owned?.close();
        }
        if (Date.now() > end) throw new Error(`nobody answers ${method}, which is not done in time:\n${said.slice(-3000)}`);
        await sleep(100);
      }
    },
    async command(...args) {
      let words = "";
      const child = launch(dir, args, (text) => (words += text));
      const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
      said += `$ ${args.join(" ")}\n${words}[${code}]\n`;
      return { code, said: words };
    },
    cards: (all = false) => known.filter((card) => all || card.decision === null),
    runs: (agent) => withStore(dir, (store) => store.runs({ ...(agent === undefined ? {} : { agent }), limit: 200 })),
    async decide(card, decision, result) {
      await day.repeat(async () => {
        const now = known.find((other) => other.id === card.id);
        if (now === undefined || now.decision !== null) return true;
        const signed = signAs(dir, readLocal(dir).trust, {
          ...asked(now),
          decision,
          at: Date.now(),
          ...(result === undefined ? {} : { result }),
        });
        await day.call("decide", { decision: signed }).catch((error: Error & { code?: string }) => {
          if (error.code !== "CARD_CLOSED" && error.code !== "GIT_STATE" && error.code !== "STORE_FULL" && error.code !== "PROPOSAL_STATE")
            throw error;
          said += `${error.message}\n`;
          return asTold(error.message);
        });
        return false;
      });
    },
    async repeat(done) {
      for (const end = Date.now() + patiently(PATIENCE_MS); ; ) {
        keepUp();
        await refresh();
        if (await done().catch(retried)) return;
        if (Date.now() > end) throw new Error(`not done in time:\n${said.slice(-3000)}`);
        await sleep(200);
      }
    },
    until: (met) =>
      day.repeat(async () => {
        const doubt = known.find((card) => card.kind === "in_doubt" && card.decision === null);
        if (doubt !== undefined) await lookAtBank(doubt);
        return met();
      }),
    async stop() {
      stopping = true;
      if (owner === null || ended(owner)) return;
      const over = new Promise((resolve) => owner?.once("close", resolve));
      owner.kill("SIGTERM");
      await over;
    },
  };
  /** What a disk without space refuses is tried again. */
  const retried = (error: Error & { code?: string }): boolean => {
    if (error.code !== "STORE_FULL" && error.code !== "OWNER_BUSY" && error.code !== "ENOSPC") throw error;
    return false;
  };
  const refresh = async () => {
    known = await withStore(dir, (store) => store.queue(200));
  };
  const lookAtBank = async (card: Card) => {
    await day.careful.until;
    const { key } = card.body as { key: string };
    const happened = acts(dir).some((act) => act.key === key);
    await day.decide(card, happened ? "approved" : "rejected", happened ? { ref: key.split("/")[1] ?? "" } : undefined);
  };
  keepUp();
  await day.until(async () => {
    const owned = await connectSocket(dir);
    owned?.close();
    return owned !== null;
  });
  return day;
}

async function put(file: string, text: string): Promise<void> {
  if (!existsSync(file)) writeFileSync(file, text);
}
