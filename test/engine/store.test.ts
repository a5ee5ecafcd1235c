/**
 * The run store when things go wrong: versions, corruption, a full disk, a torn last record, two owners, an owner that wakes too late.
 * Size: one store, one harness; the cases share how a store is broken and looked at again.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Database } from "../../runtime/engine/store/database.ts";
import { packClosed } from "../../runtime/engine/store/packing.ts";
import { SCHEMA_VERSION } from "../../runtime/engine/store/schema.ts";
import {
  abandon,
  close,
  closeAll,
  copyOf,
  decide,
  eventsOf,
  host,
  openCard,
  removeAll,
  run,
  start,
  traces,
  upTo,
  withStore,
  workspace,
  type Workspace,
  signed,
} from "./harness.ts";

/** A workspace with one finished run and one that waits. */
let used: Workspace;
let done = "";
let waits = "";
beforeAll(async () => {
  used = await workspace();
  const opened = await host(used);
  done = (await run(opened, "book")).id;
  waits = (await run(opened, "pay")).id;
  await close(opened);
});
afterEach(closeAll);
afterAll(removeAll);

const store = (one: Workspace) => join(one.dir, ".cleared/store.db");

describe("versions", () => {
  test("an empty store of version 0 is upgraded; one of a newer version is refused and unchanged", async () => {
    const one = copyOf(used);
    for (const name of ["", "-wal", "-shm"]) rmSync(store(one) + name, { force: true });
    const empty = new DatabaseSync(store(one));
    empty.exec("PRAGMA user_version = 0");
    empty.close();
    await close(await host(one));
    expect(withStore(one.dir, (db) => db.prepare("PRAGMA user_version").get())).toEqual({ user_version: SCHEMA_VERSION });
    withStore(one.dir, (db) => db.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`));
    await expect(host(one)).rejects.toMatchObject({ code: "STORE_VERSION", message: expect.stringMatching(/Start the newer version/) });
    expect(withStore(one.dir, (db) => db.prepare("PRAGMA user_version").get())).toEqual({ user_version: SCHEMA_VERSION + 1 });
  });

  // What the versions after the first have added, taken away again.
  const OLDEST = `DROP INDEX runs_wake; DROP TABLE model_calls; DROP TABLE asks; DROP TABLE ask_rows; DROP TABLE model_marks; DROP TABLE notices; DROP TABLE pauses; DROP TABLE tasks; DROP TABLE task_entries; DROP TABLE task_pushes; DROP TABLE a2a_calls;
    DROP TABLE bundles; DROP INDEX runs_ended; DROP INDEX runs_wrong; DROP INDEX cards_proposals; ALTER TABLE runs DROP COLUMN bundle; ALTER TABLE runs DROP COLUMN adopted;
    ALTER TABLE runs DROP COLUMN given; ALTER TABLE runs DROP COLUMN started_by; ALTER TABLE runs DROP COLUMN meta; ALTER TABLE emitted DROP COLUMN seal; PRAGMA user_version = 1`;

  test("a store of an older version is migrated with everything in it", async () => {
    const one = copyOf(used);
    withStore(one.dir, (db) => db.exec(OLDEST));
    const opened = await host(one);
    expect(opened.database.get("PRAGMA user_version")).toEqual({ user_version: SCHEMA_VERSION });
    expect(opened.database.all("EXPLAIN QUERY PLAN SELECT rid FROM runs WHERE status = 'waiting' AND wake_at <= 5")).toMatchObject([
      { detail: expect.stringContaining("runs_wake") },
    ]);
    expect((await opened.engine.get(done))?.status).toBe("done");
    expect(await decide(opened, waits, "approved")).toMatchObject({ status: "done", result: { paid: true } });
    const steps = await opened.engine.steps(done);
    while ((await packClosed(opened.packing, Number.MAX_SAFE_INTEGER)) > 0);
    expect(opened.database.get("SELECT 1 FROM steps")).toBeUndefined();
    expect(await opened.engine.steps(done)).toEqual(steps);
  });

  test("three processes that create the same store at once create one", async () => {
    const one = copyOf(used);
    for (const name of ["", "-wal", "-shm"]) rmSync(store(one) + name, { force: true });
    const script = `import { Database } from ${JSON.stringify(join(import.meta.dirname, "../../runtime/engine/store/database.ts"))};
      while (Date.now() < Number(process.argv[1])) ;
      new Database(${JSON.stringify(store(one))}).close();`;
    const at = Date.now() + 600;
    const ends = await Promise.all(
      [1, 2, 3].map(
        () =>
          new Promise((resolve) =>
            spawn(process.execPath, ["--input-type=module", "-e", script, String(at)], { stdio: ["ignore", "ignore", "inherit"] }).on(
              "exit",
              resolve,
            ),
          ),
      ),
    );
    expect(ends).toEqual([0, 0, 0]);
    expect((await run(await host(one), "quick")).status).toBe("done");
  });
});

describe("damage", () => {
  test.each([
    ["it is no database at all", (file: string) => writeFileSync(file, "not a database, but long enough to look at it twice".repeat(50))],
    ["its pages are garbage", (file: string) => overwrite(file, 100, 16_000)],
    ["it was cut short", (file: string) => truncateSync(file, 5000)],
  ])("%s: the message gives the remedy, and with the store moved aside the books continue", async (_, damage) => {
    const one = copyOf(used);
    withStore(one.dir, (db) => db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
    damage(store(one));
    const refusal = await host(one)
      .then(
        async (opened) => opened.engine.list({}),
        (error: unknown) => Promise.reject(error),
      )
      .catch((error: Error & { code: string }) => error);
    expect(refusal).toMatchObject({ code: "STORE_CORRUPT", message: expect.stringMatching(/Move it aside; the books are in git/) });
    await closeAll();
    for (const name of ["", "-wal", "-shm"]) rmSync(store(one) + name, { force: true });
    const opened = await host(one);
    expect(await run(opened, "book", { key: "two" })).toMatchObject({ status: "done", result: { made: true } });
    // What is in the books is known there, not in the store.
    expect(await run(opened, "book", { key: "one" })).toMatchObject({ status: "done", result: { made: false } });
  });

  test.each(["cut", "garbled"])(
    "after a power failure, a last record that was %s is gone, and everything before it is there",
    async (how) => {
      const one = copyOf(used);
      const opened = await host(one);
      const { id } = await run(opened, "gate");
      // The log as it lies on the disk at this moment, without a closing checkpoint.
      const left = copyOf(one);
      await close(opened);
      const wal = `${store(left)}-wal`;
      const { size } = statOf(wal);
      if (how === "cut") truncateSync(wal, size - 1500);
      else overwrite(wal, size - 1500, 1500);
      withStoreLease(left);
      const again = await host(left);
      expect((await again.engine.get(done))?.status).toBe("done");
      expect((await again.engine.result(id)).status).toBe("waiting");
      const { numbers } = await eventsOf(again, id);
      expect(numbers).toEqual(upTo(numbers.length));
      expect(await decide(again, waits, "approved")).toMatchObject({ status: "done", result: { paid: true } });
      expect(left.bank()).toEqual(["pay"]);
    },
  );
});

describe("a full disk", () => {
  test("at any page nothing is lost or doubled, and the runs continue automatically once there is space", async () => {
    const calm = copyOf(used);
    const still = await host(calm);
    const booked = await run(still, "book", { key: "full" });
    await decide(still, waits, "approved");
    const expected = [await traces(calm, still, booked.id), await traces(calm, still, waits)];
    await close(still);
    const refused: unknown[] = [];
    for (const spare of [0, 1, 2]) {
      const one = copyOf(used);
      const said: unknown[] = [];
      const opened = await host(one, { onError: (error) => said.push(error) });
      // Unlike the file of a real full disk, the limit counts pages of the database; free ones would hide it.
      opened.database.db.exec("PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
      const { page_count: pages } = opened.database.db.prepare("PRAGMA page_count").get() as { page_count: number };
      opened.database.db.exec(`PRAGMA max_page_count = ${pages}`);
      await fill(opened.database);
      // What is left inside the tables' own pages goes to runs.
      for (let n = 0; n < 60 && (await start(opened, "quick", { n }).catch(() => null)) !== null; n++);
      opened.database.db.exec(`PRAGMA max_page_count = ${pages + spare}`);
      const early = await start(opened, "book", { key: "full" }, `full-${spare}`).catch((error: Error & { code: string }) => error.code);
      const card = openCard(opened, waits);
      const told = await opened.engine
        .signal(waits, card.gate ?? "", signed(opened, waits, card.gate ?? ""), "k")
        .catch((error: Error & { code: string }) => error.code);
      await new Promise((next) => setTimeout(next, 900));
      opened.database.db.exec("PRAGMA max_page_count = 1073741823");
      if (told === "STORE_FULL") await opened.engine.signal(waits, card.gate ?? "", signed(opened, waits, card.gate ?? ""), "k");
      const id = early === "STORE_FULL" ? await start(opened, "book", { key: "full" }, `full-${spare}`) : early;
      expect((await opened.engine.result(waits, { ended: true, timeoutMs: 100_000 })).status).toBe("done");
      expect((await opened.engine.result(id, { ended: true, timeoutMs: 100_000 })).status).toBe("done");
      expect(said.every((error) => (error as { code?: string }).code === "STORE_FULL")).toBe(true);
      refused.push(...[early, told].filter((answer) => answer === "STORE_FULL"), ...said);
      expect(said.length).toBeLessThan(6);
      const [first, second] = [await traces(one, opened, id), await traces(one, opened, waits)];
      for (const [found, wanted] of [
        [first, expected[0]],
        [second, expected[1]],
      ] as const) {
        expect({ ...(found as object), subjects: 0, tree: 0, cards: 0 }).toEqual({ ...(wanted as object), subjects: 0, tree: 0, cards: 0 });
      }
      expect((first as { subjects: string[] }).subjects.toSorted()).toEqual((expected[0] as { subjects: string[] }).subjects.toSorted());
      await close(opened);
    }
    expect(refused.length).toBeGreaterThan(1);
  });

  test("a store that cannot be created reports a full disk, whichever write finds it", (context) =>
    onSmallDisk(context, 3, async (place) => {
      const codes = new Set<string>();
      for (let spare = 0; spare < 90; spare++) {
        const [ballast, file] = [join(place, "ballast"), join(place, "store.db")];
        fillDisk(ballast, spare);
        try {
          new Database(file).close();
          codes.add("made");
        } catch (error) {
          codes.add((error as { code: string }).code);
        }
        for (const name of [ballast, file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true });
      }
      expect([...codes].sort()).toEqual(["STORE_FULL", "made"]);
    }));

  test(
    "a disk too full for git leaves no commit, and the run continues when there is space",
    (context) =>
      onSmallDisk(context, 12, async (place) => {
        const one = copyOf(used, place);
        const opened = await host(one);
        const head = one.git("rev-parse", "HEAD");
        const ballast = join(place, "ballast");
        fillDisk(ballast);
        const id = await start(opened, "book", { key: "space" }).catch(() => null);
        await new Promise((next) => setTimeout(next, 700));
        expect(one.git("rev-parse", "HEAD")).toBe(head);
        rmSync(ballast);
        const run = id ?? (await start(opened, "book", { key: "space" }));
        let end = await opened.engine.result(run, { ended: true, timeoutMs: 8000 });
        if (end.status === "failed") {
          expect(["GIT_FAILED", "STORE_FULL"]).toContain(end.error?.code);
          await opened.engine.retry(run);
          end = await opened.engine.result(run, { ended: true, timeoutMs: 8000 });
        }
        expect(end).toMatchObject({ status: "done", result: { made: true } });
        expect(one.git("status", "--porcelain")).toBe("");
        expect(one.git("log", "--format=%s", "-1").trim()).toBe("import: space");
        execFileSync("git", ["fsck", "--strict"], { cwd: one.dir, stdio: "ignore" });
        await close(opened);
      }),
    120_000,
  );
});

describe("owners", () => {
  test("a second owner is told who has the workspace; it takes over from a dead one at once and continues its runs", async () => {
    const one = copyOf(used);
    const first = await host(one);
    await expect(host(one)).rejects.toMatchObject({ code: "OWNER_BUSY", data: { pid: process.pid } });
    const id = await start(first, "slow");
    await new Promise((next) => setTimeout(next, 100));
    await abandon(first);
    const second = await host(one);
    expect(await second.engine.result(id, { ended: true })).toMatchObject({ status: "done" });
    expect((await second.engine.get(id))?.attempt).toBeGreaterThan(1);
  });

  test("an owner that was suspended and resumes after a takeover writes nothing, to the store or to git", async () => {
    const one = copyOf(used);
    let lost = 0;
    const zombie = await host(one, { onLost: () => (lost += 1) });
    const head = one.git("rev-parse", "HEAD");
    // A run of the zombie stands right before its commit when the other one takes over.
    let reached: () => void = () => undefined;
    const standing = new Promise<void>((resolve) => (reached = resolve));
    let wake: () => void = () => undefined;
    const asleep = new Promise<void>((resolve) => (wake = resolve));
    const { view } = zombie.world;
    zombie.world.view = async (...args) => {
      const made = await view(...args);
      const { commit } = made;
      return {
        ...made,
        async commit(...request) {
          reached();
          await asleep;
          return commit(...request);
        },
      };
    };
    const id = await start(zombie, "book", { key: "zombie" });
    await standing;
    const owner = await host(one, { clock: { now: () => Date.now() + 20_000 } });
    expect(await owner.engine.result(id, { ended: true })).toMatchObject({ status: "done", result: { made: true } });
    const after = one.git("rev-parse", "HEAD");
    expect(after).not.toBe(head);
    wake();
    await new Promise((next) => setTimeout(next, 200));
    expect(one.git("rev-parse", "HEAD")).toBe(after);
    for (const write of [
      () => zombie.engine.cancel(waits, "no"),
      () => zombie.engine.signal(waits, "g", null, "k"),
      () => start(zombie, "quick"),
      () => zombie.engine.retry(waits),
      () => zombie.engine.fork(done, 1),
    ]) {
      await expect(write()).rejects.toMatchObject({ code: "OWNER_FENCED" });
    }
    await expect(
      zombie.git.commit({
        message: "late",
        trailers: {},
        build: async () => new Map([["data/x.txt", "x\n"]]),
        guard: () => zombie.world.guard(),
      }),
    ).rejects.toMatchObject({ code: "OWNER_FENCED" });
    expect(one.git("rev-parse", "HEAD")).toBe(after);
    expect(one.git("status", "--porcelain")).toBe("");
    const { numbers } = await eventsOf(owner, id);
    expect(numbers).toEqual(upTo(numbers.length));
    await new Promise((next) => setTimeout(next, 2200));
    expect(lost).toBe(1);
    // Its closing does not disturb the owner.
    await close(zombie);
    expect((await run(owner, "quick")).status).toBe("done");
  });
});

function overwrite(file: string, from: number, bytes: number): void {
  const handle = openSync(file, "r+");
  writeSync(handle, Buffer.alloc(bytes, 0xa5), 0, bytes, from);
  closeSync(handle);
}

function statOf(file: string) {
  const handle = openSync(file, "r");
  const stat = fstatSync(handle);
  closeSync(handle);
  return stat;
}

/** The copy of a living owner's store: its process must not count as alive. */
function withStoreLease(one: Workspace): void {
  withStore(one.dir, (db) => db.exec("UPDATE lease SET owner = '4194304:1/gone', pid = 4194304"));
}

/** Uses up the pages that are still free, like other data on the disk. */
async function fill(database: Database): Promise<void> {
  for (let size = 4000; size > 0; size -= 1000) {
    for (;;) {
      try {
        database.write(() => database.run("INSERT INTO facts VALUES (hex(randomblob(8)), ?)", "x".repeat(size)));
      } catch {
        break;
      }
    }
  }
}

/** A folder with so many megabytes of its own. */
async function onSmallDisk(context: TestContext, megabytes: number, work: (place: string) => Promise<void>): Promise<void> {
  const place = join(used.dir, "../small");
  mkdirSync(place, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", place], { stdio: "ignore" });
  } catch {
    return context.skip("only root can mount a small disk");
  }
  try {
    await work(place);
  } finally {
    await closeAll();
    execFileSync("umount", ["-l", place], { stdio: "ignore" });
  }
}

/** Until so many pages are left. */
function fillDisk(file: string, spare = 0): void {
  const handle = openSync(file, "w");
  for (const size of [65_536, 4096]) {
    try {
      for (;;) if (writeSync(handle, Buffer.alloc(size)) < size) break;
    } catch {
      // full
    }
  }
  ftruncateSync(handle, fstatSync(handle).size - spare * 4096);
  closeSync(handle);
  if (!existsSync(file) || readFileSync(file).length === 0) throw new Error("the disk was full before");
}
