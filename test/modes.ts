/**
 * describeAgent(): one scenario of an agent in every mode: live, dry, replayed, and stopped before and after every operation on its
 * record and around each commit, with a new owner each time. All of them must leave the same behind.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Host } from "../runtime/app/host.ts";
import { replayRun } from "../runtime/engine/replay.ts";
import { ClearedError } from "../runtime/kernel/errors.ts";
import type { Json, RunLog, RunRecord } from "../runtime/kernel/ports.ts";
import {
  LATER,
  abandon,
  close,
  copyOf,
  decide,
  host,
  openCard,
  remove,
  start,
  traces,
  type Workspace,
  workspace,
} from "./engine/harness.ts";

export interface Scenario {
  agent: string;
  /** Files the user commits before the run. */
  files?: Record<string, string>;
  /** Files that lie in the work tree only, such as statements in import/. */
  loose?: Record<string, string>;
  /** What the person says at an approval. */
  says?: "approved" | "rejected";
  /** What the bank notes for the agent's payment: in doubt, the person looks there. */
  kind?: string;
  /** Operations after which a person may be asked what happened outside; none unless told. */
  doubts?: string[];
  /** Where the stops begin: scenarios that only differ after their gate need not repeat what comes before. */
  from?: "start" | "gate";
  /** Only every n-th stop, where another scenario stops everywhere; all of them with CLEARED_LONG=1. */
  every?: number;
}

export function describeAgent(name: string, scenario: Scenario): void {
  describe(name, () => {
    let prepared: Workspace;
    let calm: Awaited<ReturnType<typeof undisturbed>>;
    beforeAll(async () => {
      prepared = await prepare(scenario);
      calm = await undisturbed(prepared, scenario);
    });
    afterAll(() => remove(prepared));

    test("live it completes, and a replay of its history is the same", () => {
      expect(calm.end.status).toBe("done");
      expect((calm.wanted as { gapless: boolean }).gapless).toBe(true);
      expect(calm.replay).toMatchObject({ same: true, findings: [] });
    });

    test("in a dry run it returns the same shape and changes nothing", async () => {
      const one = copyOf(prepared);
      const head = one.git("rev-parse", "HEAD");
      const opened = await host(one, { mode: "memory" });
      const { id } = await opened.start(scenario.agent, { cause: { kind: "command", key: "dry" }, input: {}, mode: "dry" });
      const end = await opened.engine.result(id, { timeoutMs: 100_000 });
      expect([end.status, end.error]).toEqual(["done", null]);
      if (scenario.says !== "rejected") expect(shapeOf(end.result)).toEqual(shapeOf(calm.end.result));
      expect([one.git("rev-parse", "HEAD"), one.git("status", "--porcelain"), one.bank()]).toEqual([
        head,
        prepared.git("status", "--porcelain"),
        [],
      ]);
      await close(opened);
      remove(one);
    });

    test("killed before and after every operation and around each commit, it ends as if nothing had happened", async () => {
      const { wanted, points } = calm;
      const asked = new Set<string>();
      const every = process.env["CLEARED_LONG"] === "1" ? 1 : (scenario.every ?? 1);
      const first = scenario.from === "gate" ? points.indexOf("after wait") + 1 : 0;
      await atOnce(
        points.map((point, at) => ({ point, at })).filter(({ at }) => at >= first && (at - first) % every === 0),
        async ({ point, at }) => {
          const { found, doubts } = await disturbed(prepared, scenario, at, "kill");
          expect(found, `killed ${point} (${at} of ${points.length})`).toEqual(wanted);
          if (doubts > 0) asked.add(point);
        },
      );
      // A person is asked only where nobody else can know.
      expect([...asked].sort()).toEqual(scenario.doubts ?? []);
    });
  });
}

/** A workspace in which the scenario can begin. The making of its store is not what is tested. */
export async function prepare(scenario: Scenario): Promise<Workspace> {
  const one = await workspace(scenario.files ?? {});
  for (const [path, text] of Object.entries(scenario.loose ?? {})) one.write(path, text);
  await close(await host(one));
  return one;
}

/** A few at a time: each has an owner and git processes of its own. */
export async function atOnce<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const queue = [...all];
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await work(next);
    }),
  );
}

function shapeOf(value: Json): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value).sort() : typeof value;
}

class Killed extends Error {}

/** Counts the operations of a run's executions and fails at one of them: "kill" for good, "full" once. */
export interface Trap {
  at: number;
  how: "kill" | "full";
  seen: string[];
  dead: boolean;
  sprung: Promise<void>;
  spring(): void;
}

function trap(at: number, how: Trap["how"]): Trap {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { at, how, seen: [], dead: false, sprung: promise, spring: resolve };
}

function isDead(armed: Trap | null): boolean {
  return armed?.dead === true;
}

/** Passes one point where a process may stop. */
function pass(set: Trap, point: string): void {
  if (set.dead) throw new Killed();
  set.seen.push(point);
  if (set.seen.length - 1 !== set.at) return;
  set.dead = set.how === "kill";
  set.spring();
  throw set.how === "kill" ? new Killed(point) : new ClearedError("STORE_FULL", `full at ${point}`);
}

const OPERATIONS = ["record", "intent", "settle", "release", "flush", "wait", "end", "requeue"] as const;

function set(opened: Host, armed: Trap): void {
  const { world } = opened;
  const { view } = world;
  world.view = async (run, log, now) => {
    for (const name of OPERATIONS) wrap(log, name, armed);
    const made = await view(run, log, now);
    const { commit, tidy } = made;
    return {
      ...made,
      async commit(message, trailers, guard) {
        pass(armed, "before commit");
        const result = await commit(message, trailers, () => {
          pass(armed, "before the branch moves");
          guard();
        });
        pass(armed, "after commit");
        return result;
      },
      async tidy() {
        pass(armed, "before tidy");
        await tidy();
      },
    };
  };
}

function wrap(log: RunLog, name: (typeof OPERATIONS)[number], armed: Trap): void {
  const inner = log[name].bind(log) as (...args: unknown[]) => unknown;
  Object.assign(log, {
    [name]: (...args: unknown[]) => {
      pass(armed, `before ${name}`);
      const value = inner(...args);
      pass(armed, `after ${name}`);
      return value;
    },
  });
}

/** Runs the scenario to its end, deciding what has to be decided. Answers the run, or null when the trap sprang. */
async function play(one: Workspace, opened: Host, { says, kind }: Scenario, id: string, armed: Trap | null): Promise<RunRecord | null> {
  for (;;) {
    const rest = await Promise.race([opened.engine.result(id, { timeoutMs: 100_000 }), ...(armed?.how === "kill" ? [armed.sprung] : [])]);
    if (rest === undefined || isDead(armed)) return null;
    if (rest.status !== "waiting") return rest;
    const card = openCard(opened, id);
    // In doubt a person looks at the bank.
    const decision = card.kind === "approval" ? (says ?? "approved") : one.bank().includes(kind ?? "") ? "approved" : "rejected";
    const more = card.kind === "in_doubt" && decision === "approved" ? { result: { ref: "4" } } : {};
    await Promise.race([decide(opened, id, decision, more), ...(armed?.how === "kill" ? [armed.sprung] : [])]);
    if (isDead(armed)) return null;
  }
}

export async function undisturbed(
  prepared: Workspace,
  scenario: Scenario,
): Promise<{ wanted: Json; points: string[]; end: RunRecord; replay: { same: boolean; findings: string[]; steps: number } }> {
  const one = copyOf(prepared);
  const opened = await host(one);
  const armed = trap(-1, "kill");
  set(opened, armed);
  const id = await start(opened, scenario.agent);
  const end = await play(one, opened, scenario, id, null);
  expect(end?.status).toBe("done");
  const wanted = await traces(one, opened, id);
  const replay = await replayRun(end as RunRecord, await opened.engine.steps(id), opened.world);
  await close(opened);
  remove(one);
  return { wanted, points: armed.seen, end: end as RunRecord, replay };
}

export async function disturbed(
  prepared: Workspace,
  scenario: Scenario,
  at: number,
  how: Trap["how"],
): Promise<{ found: Json; doubts: number }> {
  const one = copyOf(prepared);
  let opened = await host(one);
  const armed = trap(at, how);
  set(opened, armed);
  const id = await start(opened, scenario.agent);
  let end = await play(one, opened, scenario, id, armed);
  if (how === "kill") {
    // What the dying process still had under way ends here.
    await abandon(opened);
    opened = await host(one, { clock: LATER });
    end = await play(one, opened, scenario, id, null);
  }
  expect(end?.error).toBeNull();
  const found = await traces(one, opened, id);
  const doubts = opened.cards.list({ kind: "in_doubt" }).length;
  await close(opened);
  remove(one);
  return { found, doubts };
}
