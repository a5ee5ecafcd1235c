/**
 * Closed histories: once a run has ended its history leaves the store for git, and everything that reads, resumes, forks, replays or
 * tries it finds it there.
 */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { withStore as look } from "../../runtime/app/look.ts";
import { bundleOf, linesOf } from "../../runtime/engine/store/archive.ts";
import { dropClosed } from "../../runtime/engine/store/packing.ts";
import { cleared } from "../cli/command-line.ts";
import { FAR, all, before, ids, inGit, inStore, makeUsed, packAll, packed, shown, used } from "./closed-runs.ts";
import { close, closeAll, copyOf, host, removeAll, run, upTo, withStore, workspace } from "./harness.ts";

beforeAll(makeUsed);
afterEach(closeAll);
afterAll(removeAll);

test("a bundle of some kB that stands for more text than fits in memory is damaged", async () => {
  const bomb = zstdCompressSync(Buffer.alloc(600 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(100_000);
  await expect(linesOf(bomb)).rejects.toMatchObject({ code: "HISTORY_GONE" });
});

describe("a closed history", () => {
  test("shows the same after it has left the store, to its owner and to readers", async () => {
    const { one, opened } = await packed();
    expect(await all(opened)).toEqual(before);
    expect(inGit(one)).toEqual(inStore(one));
    expect(inGit(one)).toHaveLength(1);
    const record = before[ids.long] as { run: unknown; steps: unknown };
    const { run: seen, steps } = await look(one.dir, (view) => view.show(ids.long));
    expect({ run: seen, steps }).toEqual({ run: record.run, steps: record.steps });
    // What waits has stayed, and nothing else.
    for (const table of ["steps", "events", "signals"])
      expect(withStore(one.dir, (db) => db.prepare(`SELECT DISTINCT id FROM ${table} JOIN runs USING (rid)`).all())).toEqual(
        table === "signals" ? [] : [{ id: ids.waits }],
      );
    expect(withStore(one.dir, (db) => db.prepare("SELECT input, result FROM runs WHERE id = ?").get(ids.long))).toEqual({
      input: "",
      result: null,
    });
  });

  test("is replayed, forked and tried like any other", async () => {
    const { opened } = await packed();
    const api = createApi(opened);
    expect(await api.replay({ run: ids.book })).toEqual({ same: true, findings: [], steps: 3 });
    expect(await api.replay({ run: ids.paid })).toMatchObject({ same: true, findings: [] });
    const { run: copy } = await api.fork({ run: ids.long, at: 10, head: false, by: null, reason: "", wait: true });
    expect(copy).toMatchObject({ status: "done", result: { text: "x".repeat(2000) }, parent: ids.long });
    expect((await opened.engine.steps(copy.id)).slice(0, 10)).toEqual((await opened.engine.steps(ids.long)).slice(0, 10));
    expect(await api.backtest({ agent: "long", at: "HEAD", which: { days: 1 } })).toMatchObject({ runs: 2, counts: { same: 2 } });
  });

  test("is undone like any other, even when no longer stored, and `cleared verify` finds nothing", async () => {
    const { one, opened } = await packed();
    const api = createApi(opened);
    const unpacked = await host(copyOf(used));
    const plan = await api.planUndo({ target: ids.paid });
    expect(plan).toEqual(await createApi(unpacked).planUndo({ target: ids.paid }));
    expect(plan.notes).toContainEqual(expect.stringMatching(/^not undone: /));
    expect((await api.undo({ target: ids.book, by: "Pat" })).commits).toHaveLength(1);
    await dropClosed(opened.packing, FAR, new Set());
    const late = await api.planUndo({ target: ids.paid });
    expect(late.commits).toEqual(plan.commits);
    expect(late.notes).toContainEqual(expect.stringMatching(/no longer stored.*not known here/));
    await api.undo({ target: ids.paid, by: "Pat" });
    await close(opened);
    expect(await cleared(one.dir, "verify")).toMatchObject({ code: 0 });
    expect(one.git("fsck", "--strict", "--no-dangling")).toBe("");
  });

  test("returns to the store when its run continues, and leaves it again with the longer history", async () => {
    const { one, opened } = await packed();
    const old = before[ids.failed] as { steps: unknown[]; events: { seq: number }[] };
    for (let tries = 0; (await opened.engine.get(ids.failed))?.status === "failed" && tries < 5; tries++) {
      await opened.engine.retry(ids.failed);
      await opened.engine.result(ids.failed, { timeoutMs: 100_000 });
    }
    const now = (await shown(opened, ids.failed)) as { run: { status: string }; steps: unknown[]; events: { seq: number }[] };
    expect(now.run.status).toBe("done");
    expect(now.events.slice(0, old.events.length).map(({ seq }) => seq)).toEqual(old.events.map(({ seq }) => seq));
    expect(now.events.map(({ seq }) => seq)).toEqual(upTo(now.events.length));
    await packAll(opened);
    expect(await shown(opened, ids.failed)).toEqual(now);
    expect(inGit(one)).toHaveLength(2);
    await expect(opened.engine.retry(ids.book)).rejects.toMatchObject({ code: "RUN_STATUS" });
  });

  test("protects what its run depends on, even if the user has dropped the commit from the branch and collects garbage", async () => {
    const one = copyOf(used);
    const opened = await host(one);
    const stood = one.commit({ "agents/quick.ts": '/*\nname: Quick\nuses: [ctx]\n*/\nctx_log("gone");\n"gone";\n' });
    const { id } = await run(opened, "quick");
    await packAll(opened);
    one.git("reset", "-q", "--hard", "HEAD^");
    one.git("reflog", "expire", "--expire=now", "--all");
    one.git("gc", "-q", "--prune=now");
    expect(await opened.engine.get(id)).toMatchObject({ pin: { commit: stood } });
    expect(await createApi(opened).replay({ run: id })).toEqual({ same: true, findings: [], steps: 1 });
    // And its bundle, and those before it.
    await close(opened);
    const again = await host(one);
    for (const old of Object.values(ids)) expect(await shown(again, old)).toEqual(before[old]);
  });

  test("is reported as missing, to be fetched, if git has lost it; other runs and lists are unaffected", async () => {
    const { one, opened } = await packed();
    const [ref = ""] = one.git("for-each-ref", "--format=%(refname)", "refs/cleared/runs").trim().split("\n");
    one.git("update-ref", "-d", ref);
    one.git("reflog", "expire", "--expire=now", "--all");
    one.git("gc", "-q", "--prune=now");
    await close(opened);
    const again = await host(one);
    await expect(again.engine.steps(ids.book)).rejects.toMatchObject({ code: "HISTORY_GONE", message: expect.stringMatching(/Fetch it/) });
    await expect(again.engine.retry(ids.failed)).rejects.toMatchObject({ code: "HISTORY_GONE" });
    expect((await again.engine.list({})).map(({ id, dropped }) => [id, dropped ?? false])).toContainEqual([ids.long, true]);
    const next = (await run(again, "quick")).id;
    await packAll(again);
    expect(await again.engine.steps(next)).toHaveLength(1);
  });

  test("is adopted again after the store was lost, in order, and nothing that started once starts again", async () => {
    const { one, opened } = await packed();
    const started = await opened.start("quick", { cause: { kind: "command", key: "once" }, input: {} });
    await opened.engine.result(started.id);
    await packAll(opened);
    const listed = (await opened.engine.list({})).map(({ id }) => id).filter((id) => id !== ids.waits);
    const cards = opened.cards.list({ run: ids.paid }).map(({ id: _, name: _n, ...card }) => card);
    await close(opened);
    for (const name of ["", "-wal", "-shm"]) rmSync(`${join(one.dir, ".cleared/store.db")}${name}`, { force: true });
    const again = await host(one);
    expect((await again.engine.list({})).map(({ id }) => id)).toEqual(listed);
    expect(await again.engine.steps(ids.paid)).toEqual((before[ids.paid] as { steps: unknown }).steps);
    expect(again.cards.list({ run: ids.paid }).map(({ id: _, name: _n, ...card }) => card)).toEqual(cards);
    expect(await again.start("quick", { cause: { kind: "command", key: "once" }, input: {} })).toEqual({ id: started.id, created: false });
    const newer = (await run(again, "quick")).id;
    expect((await again.engine.list({ limit: 1 }))[0]?.id).toBe(newer);
    await packAll(again);
    expect(inGit(one)).toEqual(inStore(one));
  });

  test("of another clone is adopted by `cleared reindex`, beside one's own", async () => {
    const { one: there } = await packed();
    const here = await workspace();
    const opened = await host(here);
    const own = (await run(opened, "quick")).id;
    await packAll(opened);
    await close(opened);
    here.git("fetch", "-q", there.dir, "refs/cleared/runs/*:refs/cleared/runs/*");
    expect(await cleared(here.dir, "reindex")).toMatchObject({ code: 0, stdout: "5 runs that this store did not know are listed now.\n" });
    const again = await host(here);
    expect((await again.engine.list({})).map(({ id }) => id)).toEqual([own, ids.long, ids.failed, ids.refused, ids.paid, ids.book]);
    expect(await again.engine.steps(ids.paid)).toEqual((before[ids.paid] as { steps: unknown }).steps);
    // Its own ref holds them now: the other clone's may go.
    expect(new Set(inGit(here)).size).toBe(2);
    await close(again);
    expect(await cleared(here.dir, "reindex")).toMatchObject({ code: 0, stdout: "Every run that git knows is listed already.\n" });
  });

  test("written by somebody else is shown, but neither trusted nor resumed", async () => {
    const { one: there } = await packed();
    const [ref = "", oid = ""] = there.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/cleared/runs").trim().split(" ");
    const [name = ""] = inGit(there);
    const bytes = execFileSync("git", ["cat-file", "blob", name], { cwd: there.dir });
    const [first = "", ...others] = [...(await linesOf(bytes)).values()];
    const failed = others.map((line) => JSON.parse(line)).find((closed) => closed.id === ids.failed);
    // A yes that nobody gave, a card that speaks for another run, and lines that are no runs.
    failed.steps[0].changes = JSON.stringify([{ op: "decided", gate: "g", decision: "approved", by: "Pat", calls: [] }]);
    failed.cards = [{ key: "alert:notice:x", kind: "note", document: "{}", at: 1, decision: '{"decision":"approved"}' }];
    const forged = await bundleOf([
      first,
      JSON.stringify(failed),
      "no json",
      '{"id":"run_00000000000000"}',
      first.replaceAll(JSON.parse(first).id, "run_00000000000001").replace('"agent":"', '"agent":[],"x":"'),
    ]);
    const blob = execFileSync("git", ["hash-object", "-w", "--stdin"], { cwd: there.dir, input: forged, encoding: "utf8" }).trim();
    const tree = execFileSync("git", ["mktree"], {
      cwd: there.dir,
      input: `100644 blob ${blob}\t${blob.slice(2)}.jsonl.zst\n`,
      encoding: "utf8",
    }).trim();
    const top = execFileSync("git", ["mktree"], {
      cwd: there.dir,
      input: `040000 tree ${tree}\t${blob.slice(0, 2)}\n`,
      encoding: "utf8",
    }).trim();
    there.git("update-ref", ref, there.git("commit-tree", "-m", "x", "-p", `${oid}^1`, top).trim(), oid);

    const here = await workspace();
    here.git("fetch", "-q", there.dir, "refs/cleared/runs/*:refs/cleared/runs/*");
    const opened = await host(here);
    expect((await opened.engine.list({})).map(({ id }) => id)).toEqual([ids.failed, JSON.parse(first).id]);
    expect(opened.cards.list()).toEqual([]);
    await expect(opened.engine.retry(ids.failed)).rejects.toMatchObject({
      code: "RUN_STATUS",
      message: expect.stringMatching(/not executed by this workspace/),
    });
    const copy = await opened.engine.fork(ids.failed, 1);
    expect((await opened.engine.steps(copy))[0]?.changes ?? []).toEqual([]);
  });
});
