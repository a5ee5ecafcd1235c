/** People at work beside a run: they edit its script, their own files, the branch; nothing of theirs is lost or swept into a commit. */
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { wakeWaiting } from "../../runtime/app/wake.ts";
import { API } from "../../runtime/kernel/primitive.ts";
import { close, closeAll, decide, host, removeAll, run, start, workspace, type Workspace } from "./harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const until = async (what: () => boolean | Promise<boolean>, ms = 10_000) => {
  for (const end = Date.now() + ms; Date.now() < end && !(await what()); ) await new Promise((next) => setTimeout(next, 30));
  expect(await what()).toBe(true);
};
const pin = async (opened: Host, commit: string, agent: string) => ({
  commit,
  blob: (await opened.git.tree(commit).blob(`agents/${agent}.ts`)) ?? "",
  api: API,
});

describe("the script of a waiting run", () => {
  test("edited, committed and even garbage-collected by git, the run continues with the script it started with", async () => {
    const one = await workspace();
    const older = one.git("rev-parse", "HEAD").trim();
    const source = one.read("agents/gate.ts");
    const began = one.commit({ "agents/gate.ts": source.replace("n: input.n })", "n: 'as it was' })") });
    const opened = await host(one);
    const { id } = await run(opened, "gate");
    await close(opened);
    // The user drops the commit the run stands on, for good.
    one.git("reset", "-q", "--hard", older);
    one.git("reflog", "expire", "--expire=now", "--all");
    one.git("gc", "-q", "--prune=now");
    one.commit({ "agents/gate.ts": source.replace("n: input.n })", "n: 'edited' })") });
    const again = await host(one);
    expect((await again.engine.get(id))?.pin.commit).toBe(began);
    expect(await decide(again, id, "approved")).toMatchObject({ status: "done", result: { n: "as it was" } });
    expect(await again.engine.result(await start(again, "gate"))).toMatchObject({ status: "waiting" });
    await close(again);
    // Nothing waits on it any more: the pin goes with the next start.
    const later = await host(one);
    expect(one.git("for-each-ref", "--format=%(refname)", "refs/cleared/pins")).not.toContain(began);
    await close(later);
  });

  test("on other code it is refused as diverged, with both calls named, and can be moved back", async () => {
    const one = await workspace();
    const opened = await host(one);
    const { id } = await run(opened, "pay");
    const first = await opened.git.head();
    const other = one.commit({ "agents/pay.ts": one.read("agents/pay.ts").replace('key: "invoice-7"', 'key: "invoice-8"') });
    await opened.engine.migrate(id, await pin(opened, other, "pay"));
    const diverged = await opened.engine.result(id);
    expect(diverged).toMatchObject({ status: "diverged", error: { code: "HISTORY_DIVERGED", at: { file: "agents/pay.ts", line: 9 } } });
    expect(diverged.error?.message).toMatch(
      /recorded as journal_add_double\(.*invoice-7.*but the script now calls journal_add_double\(.*invoice-8/s,
    );
    await opened.engine.migrate(id, await pin(opened, first, "pay"));
    expect((await opened.engine.result(id)).status).toBe("waiting");
    expect(await decide(opened, id, "approved")).toMatchObject({ status: "done", result: { paid: true } });
    expect(one.bank()).toEqual(["pay"]);
  });
});

describe("the user's repository", () => {
  test("staged, unstaged and untracked work is not committed, lost or stale when a run commits", async () => {
    const one = await workspace({ "notes.txt": "one\n", "staged.txt": "one\n" });
    one.write("notes.txt", "one\nunstaged\n");
    one.write("staged.txt", "one\nstaged\n");
    one.git("add", "staged.txt");
    one.write("untracked.txt", "mine\n");
    const opened = await host(one);
    expect(await run(opened, "book")).toMatchObject({ status: "done", result: { made: true } });
    expect(one.git("status", "--porcelain")).toBe(" M notes.txt\nM  staged.txt\n?? untracked.txt\n");
    expect(one.git("show", "--name-only", "--format=", "HEAD").trim().split("\n")).toEqual(["journal/2026/11.journal", "main.journal"]);
    // What the user commits next does not undo the run's entries.
    one.git("commit", "-q", "-a", "-m", "mine");
    expect(one.git("show", "HEAD:journal/2026/11.journal")).toContain("Booked one");
    expect(one.git("diff", "--stat", "HEAD")).toBe("");
  });

  test.each(["committed", "undone"])(
    "if the user has edited a file the run must write, the run waits and names it, and commits once the edit is %s",
    async (how) => {
      const one = await workspace();
      const opened = await host(one);
      await run(opened, "book", { key: "first" });
      const mine = `${one.read("journal/2026/11.journal")}\n2026-11-09 * (261109-0000000000) By hand\n    ; key: hand\n    ; status: user-confirmed\n    Expenses:Meals  3.00 USD\n    Assets:Bank:Checking  -3.00 USD\n`;
      const clean = one.read("journal/2026/11.journal");
      one.write("journal/2026/11.journal", mine);
      const waiting = await run(opened, "book", { key: "second" });
      expect(waiting).toMatchObject({ status: "waiting", reason: "user_edit", waitsFor: "journal/2026/11.journal" });
      expect(one.read("journal/2026/11.journal")).toBe(mine);
      if (how === "committed") one.commit({ "journal/2026/11.journal": mine });
      else one.write("journal/2026/11.journal", clean);
      await opened.engine.retry(waiting.id);
      expect(await opened.engine.result(waiting.id)).toMatchObject({ status: "done", result: { made: true } });
      const text = one.read("journal/2026/11.journal");
      expect([text.includes("By hand"), text.match(/Booked second/g)?.length]).toEqual([how === "committed", 1]);
      expect(one.git("status", "--porcelain")).toBe("");
    },
  );

  test("while a month's folder is read-only, nothing is committed; the run waits and names it, then commits", async (context) => {
    const one = await workspace();
    mkdirSync(join(one.dir, "journal/2026"), { recursive: true });
    const folder = join(one.dir, "journal/2026");
    // Nothing is read-only for root but a read-only disk.
    const asRoot = process.getuid?.() === 0;
    const mount = (...args: string[]) => execFileSync("mount", args, { stdio: "ignore" });
    try {
      if (asRoot) mount("--bind", folder, folder);
      if (asRoot) mount("-o", "remount,ro,bind", folder);
      else chmodSync(folder, 0o555);
    } catch {
      return context.skip("a read-only disk cannot be made here");
    }
    const free = () => (asRoot ? execFileSync("umount", ["-l", folder]) : chmodSync(folder, 0o755));
    try {
      const head = one.git("rev-parse", "HEAD");
      const opened = await host(one);
      const waiting = await run(opened, "book");
      expect(waiting).toMatchObject({
        status: "waiting",
        reason: "user_edit",
        waitsFor: expect.stringMatching(/journal\/2026\/ is read-only/),
      });
      expect([one.git("rev-parse", "HEAD"), one.git("status", "--porcelain")]).toEqual([head, ""]);
      free();
      await wakeWaiting(opened);
      expect(await opened.engine.result(waiting.id, { ended: true, timeoutMs: 100_000 })).toMatchObject({ status: "done" });
      expect(one.git("status", "--porcelain")).toBe("");
    } catch (error) {
      free();
      throw error;
    }
  });

  test("on another branch or during a merge the run waits and says why, then commits on its own branch", async () => {
    const one = await workspace({ "both.txt": "base\n" });
    const opened = await host(one);
    one.git("switch", "-q", "-c", "draft");
    one.commit({ "both.txt": "draft\n" });
    const away = await run(opened, "book", { key: "away" });
    expect(away).toMatchObject({
      status: "waiting",
      reason: "user_edit",
      waitsFor: expect.stringMatching(/"draft" is checked out; runs commit to "main"/),
    });
    one.git("switch", "-q", "main");
    await opened.engine.retry(away.id);
    expect((await opened.engine.result(away.id)).status).toBe("done");
    expect(one.git("log", "--format=%s", "-1", "main").trim()).toBe("import: away");
    expect(one.git("log", "--format=%s", "-1", "draft").trim()).not.toBe("import: away");
    one.commit({ "both.txt": "main\n" });
    expect(() => one.git("merge", "draft")).toThrow();
    const merging = await run(opened, "book", { key: "merging" });
    expect(merging).toMatchObject({ status: "waiting", waitsFor: expect.stringMatching(/merge is in progress.*git merge --abort/) });
    expect(one.git("status", "--porcelain")).toBe("UU both.txt\n");
    one.git("merge", "--abort");
    await opened.engine.retry(merging.id);
    expect((await opened.engine.result(merging.id)).status).toBe("done");
  });

  test("under `cleared start` it commits automatically, seconds after the edit is gone", async () => {
    const one = await workspace();
    const first = await host(one);
    await run(first, "book", { key: "first" });
    const clean = one.read("journal/2026/11.journal");
    one.write("journal/2026/11.journal", `${clean}; a note of mine\n`);
    const { id } = await run(first, "book", { key: "second" });
    await close(first);
    const served = serve(one);
    try {
      await until(() => existsSync(join(one.dir, ".cleared/sock")));
      await new Promise((next) => setTimeout(next, 700));
      expect(one.git("log", "--format=%s", "-1").trim()).toBe("import: first");
      one.write("journal/2026/11.journal", clean);
      await until(() => one.git("log", "--format=%s", "-1").trim() === "import: second");
    } finally {
      served.kill("SIGTERM");
      await new Promise((resolve) => served.on("exit", resolve));
    }
    const look = await host(one);
    expect((await look.engine.get(id))?.status).toBe("done");
  });

  test("data that the run read and the user changed and committed meanwhile is a conflict, not a lost change", async () => {
    const one = await workspace({
      "data/rates.json": '{"a": 1}\n',
      "agents/rates.ts":
        '/*\nname: Rates\nuses: [data, approval]\n*/\ndata_write({ path: "data/rates.json", text: "changed" });\napproval_wait({ title: "Keep?", calls: [] });\n1;\n',
    });
    const opened = await host(one);
    const { id, status, error } = await run(opened, "rates");
    expect([status, error]).toEqual(["waiting", null]);
    one.commit({ "data/rates.json": '{"a": 2}\n' });
    expect(await decide(opened, id, "approved")).toMatchObject({ status: "failed", error: { code: "WORKSPACE_CONFLICT" } });
    expect(one.read("data/rates.json")).toBe('{"a": 2}\n');
  });
});

function serve(one: Workspace) {
  return spawn(
    process.execPath,
    [join(import.meta.dirname, "../../runtime/cli/main.ts"), "start", "--dir", one.dir, "--port", "0", "--accept-trust"],
    { stdio: "ignore" },
  );
}
