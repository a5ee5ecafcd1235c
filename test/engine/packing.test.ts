/**
 * Moving histories out of the store, and letting old ones go: killed, out of disk or out of its lease in the middle, nothing is lost, and
 * what an entry or a case names is never dropped.
 */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { pack } from "../../runtime/engine/store/database.ts";
import { dropClosed, packClosed } from "../../runtime/engine/store/packing.ts";
import { endedRuns, measure } from "../../runtime/change/proposals/guard-metrics.ts";
import { createGitUpkeep } from "../../runtime/workspace/git/repack.ts";
import { cleared } from "../cli/command-line.ts";
import { FAR, all, before, ids, inGit, inStore, makeUsed, packAll, packed, shown, used } from "./closed-runs.ts";
import { type Workspace, close, closeAll, copyOf, host, makeOwnerDead, removeAll, withStore } from "./harness.ts";

beforeAll(makeUsed);
afterEach(closeAll);
afterAll(removeAll);

describe("moving histories", () => {
  test.each(["kept", "moved"])("killed at %s, nothing is lost and the next owner continues", async (stage) => {
    const one = copyOf(used);
    expect(await packIn(one, "pack", stage)).toBe("SIGKILL");
    makeOwnerDead(one.dir);
    const opened = await host(one);
    expect(await all(opened)).toEqual(before);
    await packAll(opened);
    expect(await all(opened)).toEqual(before);
    expect(inGit(one)).toEqual(inStore(one));
    expect(one.git("fsck", "--strict", "--no-dangling")).toBe("");
  });

  test("a history longer than the limit for texts stays in the store, and delays no other", async () => {
    const one = copyOf(used);
    const opened = await host(one);
    const long = JSON.stringify("x".repeat(65 << 20));
    opened.database.write(() =>
      opened.database.run("UPDATE steps SET result = ? WHERE seq = 0 AND rid = (SELECT rid FROM runs WHERE id = ?)", pack(long), ids.book),
    );
    await packAll(opened);
    expect((await opened.engine.steps(ids.book))[0]?.result).toBe(long);
    expect(withStore(one.dir, (db) => db.prepare("SELECT id FROM runs WHERE bundle = -1").all())).toEqual([{ id: ids.book }]);
    expect(await opened.engine.steps(ids.paid)).toEqual((before[ids.paid] as { steps: unknown }).steps);
    expect(inGit(one)).toHaveLength(1);
  });

  test("the guard counts moved and dropped runs as before: a repeated failure to find the bad file counts once", async () => {
    const one = copyOf(used);
    const opened = await host(one);
    one.commit({ "agents/fails.ts": "/*\nname: Fails\nuses: [journal]\n*/\njournal_query({ limit: 5 }).nothing.at(1);\n1;\n" });
    const files = Array.from({ length: 60 }, (_, n) => `statement-of-the-savings-account-${n}.csv`);
    for (const more of [{}, { repeats: true }, { repeats: true }]) {
      const cause = { kind: "watch" as const, key: JSON.stringify({ ...more, n: Math.random() }), detail: { files, ...more } };
      const { id } = await opened.start("fails", { cause, input: {} });
      expect(await opened.engine.result(id, { timeoutMs: 100_000 })).toMatchObject({ status: "failed" });
    }
    const counted = () => measure("fails", endedRuns(opened.database, "fails", () => "after").after);
    const was = counted();
    expect(was).toMatchObject({ runs: 1, failed: 1 });
    await packAll(opened);
    expect(counted()).toEqual(was);
    expect((await opened.engine.list({ agent: "fails" }))[0]?.cause.detail).toEqual({ files, repeats: true });
    await dropClosed(opened.packing, FAR, new Set());
    expect(counted()).toEqual(was);
  });

  test("a run that is in progress keeps its history in the store", async () => {
    const one = copyOf(used);
    const opened = await host(one);
    const going = {
      ...opened.packing,
      reached: (stage: string) =>
        void (
          stage === "kept" &&
          opened.database.write(() => opened.database.run("UPDATE runs SET events = events + 1 WHERE id = ?", ids.failed))
        ),
    };
    await packClosed(going, FAR);
    expect(withStore(one.dir, (db) => db.prepare("SELECT DISTINCT id FROM steps JOIN runs USING (rid) ORDER BY id").all())).toEqual([
      { id: ids.failed },
      { id: ids.waits },
    ]);
    expect(await opened.engine.steps(ids.failed)).toEqual((before[ids.failed] as { steps: unknown }).steps);
  });

  test("a fenced owner moves nothing: neither in git nor in the store", async () => {
    const one = copyOf(used);
    const zombie = await host(one);
    const owner = await host(one, { clock: { now: () => Date.now() + 20_000 } });
    await expect(packClosed(zombie.packing, FAR)).rejects.toMatchObject({ code: "OWNER_FENCED" });
    expect(inGit(one)).toEqual([]);
    expect(await all(owner)).toEqual(before);
  });

  test("on a full disk the history stays, and moves when there is space", async (context) => {
    const place = join(used.dir, "../full");
    mkdirSync(place, { recursive: true });
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", place], { stdio: "ignore" });
    } catch {
      return context.skip("only root can mount a small disk");
    }
    try {
      const one = copyOf(used, place);
      const opened = await host(one);
      const ballast = join(place, "ballast");
      // Full before git writes the bundle, and full between that and the store.
      for (const stage of ["", "kept"]) {
        if (stage === "") fillDisk(ballast);
        const packing = { ...opened.packing, reached: (reached: string) => void (reached === stage && fillDisk(ballast)) };
        await expect(packClosed(packing, FAR)).rejects.toMatchObject({ code: expect.stringMatching(/STORE_FULL|GIT_FAILED/) });
        expect(await all(opened)).toEqual(before);
        rmSync(ballast);
      }
      await packAll(opened);
      expect(await all(opened)).toEqual(before);
      expect(inGit(one)).toEqual(inStore(one));
      await close(opened);
    } finally {
      await closeAll();
      execFileSync("umount", ["-l", place], { stdio: "ignore" });
    }
  });
});

describe("retention", () => {
  test("drops old histories, but none that an entry, a case, an open card or one of their callers names", async () => {
    const { one, opened } = await packed();
    one.commit({ "cases/gate/one.yaml": `from: {run: ${ids.refused}}\n` });
    const upkeep = createGitUpkeep(one.dir, join(one.dir, ".git"));
    const named = await upkeep.namedRuns();
    // The entries of two runs name them, and the case one.
    for (const id of [ids.book, ids.paid, ids.refused]) expect(named).toContain(id);
    expect(await dropClosed(opened.packing, FAR, named)).toBe(2);
    for (const id of [ids.book, ids.paid, ids.refused, ids.waits]) expect(await shown(opened, id)).toEqual(before[id]);
    for (const id of [ids.failed, ids.long]) {
      expect(await opened.engine.get(id)).toMatchObject({ id, dropped: true, result: null });
      await expect(opened.engine.steps(id)).rejects.toMatchObject({
        code: "HISTORY_GONE",
        message: expect.stringMatching(/no longer stored/),
      });
    }
    await expect(opened.engine.retry(ids.failed)).rejects.toMatchObject({ code: "HISTORY_GONE" });
    expect(inGit(one)).toEqual(inStore(one));
    expect(JSON.stringify(withStore(one.dir, (db) => db.prepare("SELECT * FROM runs WHERE id = ?").get(ids.long)))).not.toContain("xxx");
    const page = await cleared(one.dir, "runs", "show", ids.long);
    expect(page).toMatchObject({ code: 0, stdout: expect.stringContaining("is no longer stored") });
  });

  test.each(["kept", "moved"])("killed at %s, it loses nothing that must be stored", async (stage) => {
    const { one, opened } = await packed();
    await close(opened);
    const keep = [ids.book, ids.paid, ids.refused];
    expect(await packIn(one, keep.join(","), stage)).toBe("SIGKILL");
    makeOwnerDead(one.dir);
    one.git("reflog", "expire", "--expire=now", "--all");
    one.git("gc", "-q", "--prune=now");
    const again = await host(one);
    for (const id of keep) expect(await shown(again, id)).toEqual(before[id]);
    await dropClosed(again.packing, FAR, new Set(keep));
    for (const id of keep) expect(await shown(again, id)).toEqual(before[id]);
    expect(inGit(one)).toEqual(inStore(one));
  });
});

function fillDisk(file: string): void {
  const handle = openSync(file, "w");
  for (const size of [65_536, 4096]) {
    try {
      for (;;) if (writeSync(handle, Buffer.alloc(size)) < size) break;
    } catch {
      // full
    }
  }
  closeSync(handle);
}

/** Answers how the child ended: a signal, or its code. */
function packIn(one: Workspace, what: string, stage: string): Promise<string | number | null> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "packing-child.ts"), one.dir, what, stage], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
}
