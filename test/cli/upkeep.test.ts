/** An owner that is left alone keeps its workspace small, in nobody's way, and can be stopped or killed in the middle. */
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { keepUp } from "../../runtime/app/upkeep.ts";
import type { Host } from "../../runtime/app/host.ts";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { type Workspace, close, closeAll, decide, host, makeOwnerDead, removeAll, run, withStore, workspace } from "../engine/harness.ts";
import { killWithAllBelow, seeded } from "../kill/processes.ts";
import { patiently } from "../patience.ts";
import { cleared } from "./command-line.ts";

afterEach(closeAll);
afterAll(removeAll);

const BUSY = { quietMs: 0, ageMs: -1000, runs: 1, loose: 1, lookMs: 20 };
const HOUR_MS = 3_600_000;
const left = (one: Workspace) =>
  readdirSync(join(one.dir, ".git"), { recursive: true })
    .map(String)
    .filter((name) => /(?:^|\/)(?:tmp_(?!pack)|\.tmp-)|\.lock$|gc\.pid$/.test(name));
/** Upkeep may have been stopped in the middle: what its git left is taken away by the next owner at the latest. */
const leftToNext = async (one: Workspace) => {
  await close(await host(one));
  return left(one);
};
const count = (one: Workspace, sql: string) =>
  withStore(one.dir, (db) => (db.prepare(`SELECT count(*) AS n FROM ${sql}`).get() as { n: number }).n);
const loose = (one: Workspace) => Number(/^count: (\d+)$/m.exec(one.git("count-objects", "-v"))?.[1]);

async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + patiently(30_000); !holds(); await sleep(20))
    if (Date.now() > end) throw new Error(`it did not come to that: ${holds}`);
}

async function book(opened: Host, from: number, to: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = from; n < to; n++) {
    const done = await run(opened, "book", { key: `k${n}` });
    expect(done).toMatchObject({ status: "done", result: { made: true } });
    ids.push(done.id);
  }
  return ids;
}

test("histories and objects are packed while runs commit, without any visible effect", async () => {
  const one = await workspace();
  const opened = await host(one);
  const said: unknown[] = [];
  const keeping = keepUp(opened, (error) => said.push(error), BUSY);
  const ids = await book(opened, 0, 5);
  await until(() => count(one, "steps") === 0 && loose(one) === 0);
  ids.push(...(await book(opened, 5, 7)));
  await until(() => count(one, "steps") === 0 && loose(one) === 0);
  await keeping.stop();
  for (const id of ids) expect(await opened.engine.steps(id)).toHaveLength(3);
  expect(said).toEqual([]);
  await close(opened);
  expect(await leftToNext(one)).toEqual([]);
  expect(one.git("fsck", "--strict", "--no-dangling")).toBe("");
  expect(one.git("status", "--porcelain")).toBe("");
  expect(one.git("rev-list", "--count", "--grep=^Run: run_", "HEAD").trim()).toBe("7");
});

test("a year later, histories that no entry names are dropped if config.yaml says so, and the store shrinks", async () => {
  const one = await workspace();
  const text = one.read("config.yaml");
  one.commit({ "config.yaml": `${text}history: {keep_days: 365}\n` });
  let ahead = 0;
  const opened = await host(one, { clock: { now: () => Date.now() + ahead } });
  const [booked = ""] = await book(opened, 0, 1);
  const quick = (await run(opened, "quick")).id;
  // Room that was needed once, and is not any more.
  opened.database.write(() => opened.database.run("INSERT INTO facts VALUES ('large', ?)", "x".repeat(40_000_000)));
  opened.database.write(() => opened.database.run("DELETE FROM facts WHERE name = 'large'"));
  const pages = () => opened.database.get<{ n: number }>("SELECT page_count AS n FROM pragma_page_count")?.n ?? 0;
  expect(pages()).toBeGreaterThan(9000);
  const keeping = keepUp(opened, () => undefined, BUSY);
  await until(() => count(one, "steps") === 0 && pages() < 1000);
  ahead = 400 * 24 * HOUR_MS;
  await until(() => count(one, "runs WHERE bundle = 0") === 1);
  await keeping.stop();
  expect(await opened.engine.get(quick)).toMatchObject({ dropped: true });
  expect(await opened.engine.steps(booked)).toHaveLength(3);
});

test("collecting removes only what nothing needs: not the script of a waiting run, nor that of a stored history", async () => {
  const one = await workspace();
  let ahead = 0;
  const opened = await host(one, { clock: { now: () => Date.now() + ahead } });
  const [booked = ""] = await book(opened, 0, 1);
  one.commit({
    "agents/quick.ts": '/*\nname: Quick\nuses: [ctx]\n*/\nctx_log("soon gone");\n"once";\n',
    "agents/asks.ts": '/*\nname: Asks\nuses: [approval]\n*/\napproval_wait({ title: "Soon gone?", calls: [] }).decision;\n',
  });
  const ended = (await run(opened, "quick")).id;
  const waits = (await run(opened, "asks")).id;
  one.git("reset", "-q", "--hard", "HEAD^");
  one.git("reflog", "expire", "--expire=now", "--all");
  one.write("nobodys.txt", "nobody's");
  const orphan = one.git("hash-object", "-w", "nobodys.txt").trim();
  rmSync(join(one.dir, "nobodys.txt"));
  const there = () => spawnSync("git", ["cat-file", "-e", orphan], { cwd: one.dir }).status === 0;
  const said: unknown[] = [];
  let keeping = keepUp(opened, (error) => said.push(error), BUSY);
  await until(() => count(one, "runs WHERE bundle > 0") === 2 && loose(one) === 0);
  await keeping.stop();
  expect(there()).toBe(true);
  // Two months pass, also for the files.
  const past = new Date(Date.now() - 60 * 24 * HOUR_MS);
  for (const name of readdirSync(join(one.dir, ".git/objects"), { recursive: true }))
    utimesSync(join(one.dir, ".git/objects", String(name)), past, past);
  ahead = 31 * 24 * HOUR_MS;
  keeping = keepUp(opened, (error) => said.push(error), BUSY);
  await until(() => !there());
  await keeping.stop();
  expect(said).toEqual([]);
  const api = createApi(opened);
  for (const id of [booked, ended]) expect(await api.replay({ run: id })).toMatchObject({ same: true });
  expect(await decide(opened, waits, "approved")).toMatchObject({ status: "done" });
  await close(opened);
  expect(await leftToNext(one)).toEqual([]);
  expect(one.git("fsck", "--strict", "--no-dangling")).toBe("");
  expect(await cleared(one.dir, "verify")).toMatchObject({ code: 0 });
});

test("killed while moving, packing or collecting, the next owner has every history, entry and card, and continues", async () => {
  const one = await workspace();
  let opened = await host(one);
  const ids = await book(opened, 0, 6);
  const waits = (await run(opened, "gate")).id;
  const shown = async () => ({
    runs: await Promise.all([...ids, waits].map(async (id) => [await opened.engine.get(id), await opened.engine.steps(id)])),
    cards: opened.cards.list(),
    log: one.git("log", "--format=%H"),
  });
  const before = await shown();
  await close(opened);
  const random = seeded(5);
  for (let n = 0; n < 6; n++) {
    const child = spawn(process.execPath, [join(import.meta.dirname, "upkeep-child.ts"), one.dir], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    await sleep(random() * 900);
    await killWithAllBelow(child.pid ?? 0);
    makeOwnerDead(one.dir);
    opened = await host(one);
    expect(await shown()).toEqual(before);
    expect(left(one)).toEqual([]);
    await close(opened);
    expect(one.git("fsck", "--strict", "--no-dangling")).toBe("");
  }
  expect(await cleared(one.dir, "verify")).toMatchObject({ code: 0 });
  opened = await host(one);
  const keeping = keepUp(opened, () => undefined, BUSY);
  await until(() => count(one, `steps JOIN runs USING (rid) WHERE id != '${waits}'`) === 0 && loose(one) === 0);
  await keeping.stop();
  expect(await shown()).toEqual(before);
  expect(await decide(opened, waits, "approved")).toMatchObject({ status: "done" });
});

test("a failure is reported once and tried again, and fails no run", async () => {
  const one = await workspace();
  const opened = await host(one);
  const said: unknown[] = [];
  const { archive } = opened.packing;
  let tries = 0;
  const refuse = async (): Promise<never> => {
    tries++;
    throw new ClearedError("STORE_FULL", "no room");
  };
  opened.packing.archive = { ...archive, keep: () => refuse() };
  const keeping = keepUp(opened, (error) => said.push(error), BUSY);
  const [id = ""] = await book(opened, 0, 1);
  await until(() => tries > 2);
  expect(said).toMatchObject([{ code: "STORE_FULL", message: "no room" }]);
  opened.packing.archive = archive;
  await until(() => count(one, "steps") === 0);
  await keeping.stop();
  expect(await opened.engine.steps(id)).toHaveLength(3);
});
