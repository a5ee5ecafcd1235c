/** Real kills: the host, its sandbox child, and the host between a commit and its record. What is left equals an undisturbed run. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { asked, decideCard, settleDecisions } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { DECIDING } from "../../runtime/engine/store/cards.ts";
import { setFact } from "../../runtime/engine/store/facts.ts";
import type { Card, Json } from "../../runtime/kernel/ports.ts";
import { below, commandOf, expectGone, seeded, signal } from "../kill/processes.ts";
import { close, closeAll, copyOf, decide, host, remove, removeAll, start, traces, workspace, type Workspace } from "./harness.ts";
import { STATEMENT } from "./plugins.ts";

const AGENTS = ["ingest", "pay"] as const;
let prepared: Workspace;
const wanted = new Map<string, Json>();
/** How long an undisturbed process takes, ms: kills are spread over it. */
let lasting = 0;

beforeAll(async () => {
  prepared = await workspace();
  prepared.write("import/chase.csv", STATEMENT);
  for (const agent of AGENTS) {
    const one = copyOf(prepared);
    const began = performance.now();
    const child = owner(one, agent);
    expect(await ended(child)).toMatchObject({ code: 0 });
    lasting = Math.max(lasting, performance.now() - began);
    wanted.set(agent, await look(one, idOf(child)));
  }
});
afterEach(closeAll);
afterAll(removeAll);

const output = new WeakMap<ChildProcess, string>();

function owner(one: Workspace, agent: string, stopAt = ""): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, "kill-child.ts"), one.dir, agent, stopAt], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  output.set(child, "");
  child.stdout?.on("data", (text) => output.set(child, (output.get(child) ?? "") + String(text)));
  return child;
}

const idOf = (child: ChildProcess): string => (output.get(child) ?? "").split("\n")[0] ?? "";

function ended(child: ChildProcess): Promise<{ code: number | null; signal: string | null }> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve({ code: child.exitCode, signal: child.signalCode });
  return new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })));
}

async function look(one: Workspace, id: string): Promise<Json> {
  const opened = await host(one, { mode: "look" });
  const found = await traces(one, opened, id);
  await close(opened);
  return found;
}

/** Sandbox processes that were alive when they were killed. */
let killed = 0;
const sleep = (ms: number) => new Promise((next) => setTimeout(next, ms));
const random = seeded(20261106);
const moments = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ agent: AGENTS[i % 2] ?? "pay", percent: Math.floor((100 * (i + random())) / count) }));

// Stops before and after every operation are held in process (crash.slow.test.ts): few moments of a real kill are enough each time.
const LONG = process.env["CLEARED_LONG"] === "1";
describe.each(moments(LONG ? 10 : 2))("host of $agent killed after $percent % of its time", ({ agent, percent }) => {
  test("the next owner brings the run to the same end", async () => {
    const one = copyOf(prepared);
    const first = owner(one, agent);
    await sleep((lasting * percent) / 100);
    const family = first.pid === undefined ? [] : below(first.pid);
    first.kill("SIGKILL");
    await ended(first);
    await expectGone(family);
    const second = owner(one, agent);
    expect(await ended(second)).toMatchObject({ code: 0 });
    // Killed before it had started its run, the first one printed nothing.
    if (idOf(first) !== "") expect(idOf(second)).toBe(idOf(first));
    expect(await look(one, idOf(second))).toEqual(wanted.get(agent));
    remove(one);
  });
});

describe.each(moments(LONG ? 6 : 2))("sandbox of $agent killed $percent half milliseconds into its life", ({ agent, percent }) => {
  test("the run continues in another one and ends the same", async () => {
    const one = copyOf(prepared);
    const child = owner(one, agent);
    // A sandbox lives for some hundredths of a second: it is waited for, then killed at a seeded moment of its life.
    let family: number[] = [];
    let sandbox: number[] = [];
    while (sandbox.length === 0 && child.exitCode === null) {
      family = below(child.pid ?? 0);
      sandbox = family.filter((pid) => /sandbox/.test(commandOf(pid)));
      await sleep(1);
    }
    await sleep(percent / 2);
    for (const pid of sandbox) {
      try {
        process.kill(pid, "SIGKILL");
        killed += 1;
      } catch {
        // ended by itself in this moment
      }
    }
    expect(await ended(child)).toMatchObject({ code: 0 });
    expect(output.get(child)).toMatch(/\ndone \n$/);
    expect(await look(one, idOf(child))).toEqual(wanted.get(agent));
    await expectGone(family);
    remove(one);
  });
});

test("the kills hit living sandboxes", () => {
  expect(killed).toBeGreaterThan(1);
});

test.each(AGENTS)(
  "host of %s killed between a commit and its record: the commit is found, not made again",
  async (agent) => {
    const one = copyOf(prepared);
    for (let commits = 1; commits <= (agent === "pay" ? 2 : 1); commits++) {
      const child = owner(one, agent, "commit");
      expect(await ended(child)).toMatchObject({ signal: "SIGKILL" });
    }
    const last = owner(one, agent);
    expect(await ended(last)).toMatchObject({ code: 0 });
    expect(await look(one, idOf(last))).toEqual(wanted.get(agent));
  },
  120_000,
);

test.each([
  ["and closes the card", false],
  ["and is on the card, when its owner was killed between the two", true],
])(
  "a run that loses one sandbox after the other fails with a card; a yes to it lets the run go on %s",
  async (_, killed) => {
    const one = copyOf(prepared);
    const opened = await host(one);
    const id = await start(opened, "pay");
    expect((await opened.engine.result(id)).status).toBe("waiting");
    const crashing = setInterval(() => {
      for (const pid of below(process.pid).filter((child) => /sandbox\/child/.test(commandOf(child)))) signal(pid, "SIGSEGV");
    }, 5);
    const failed = await decide(opened, id, "approved");
    clearInterval(crashing);
    expect(failed).toMatchObject({ status: "failed", error: { code: "SANDBOX_CRASHED" } });
    const card = opened.cards.list({ open: true, run: id }).find((found) => found.kind === "note");
    expect(card?.title).toMatch(/lost its sandbox process repeatedly/);
    const yes = signAs(one.dir, opened.trust, { ...asked(card as Card), decision: "approved", at: Date.now() });
    if (killed) {
      setFact(opened.database, `${DECIDING}${yes.card}`, JSON.stringify(yes));
      await opened.engine.retry(id);
    } else await decideCard(opened, yes);
    expect(await opened.engine.result(id, { ended: true, timeoutMs: 100_000 })).toMatchObject({ status: "done", result: { paid: true } });
    await settleDecisions(opened, (error) => expect(error).toBeNull());
    expect(opened.cards.get(yes.card)?.decision).toMatchObject({ decision: "approved", by: yes.by });
    expect([one.bank(), opened.cards.list({ open: true, run: id })]).toEqual([["pay"], []]);
  },
  120_000,
);
