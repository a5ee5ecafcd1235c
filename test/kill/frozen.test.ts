/**
 * Owners that stand still for longer than the lease and then go on: another process has taken over meanwhile, whatever they held, and what
 * they were in the middle of happens once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { standsStill } from "../../runtime/kernel/processes.ts";
import { confirm } from "../confirm.ts";
import { madeOf, host, removeAll, run, type Workspace, workspace } from "../engine/harness.ts";
import { ACTS, killAll, open, prepareDay, sleep } from "./day.ts";
import { below, commandOf, signal } from "./processes.ts";
import { share } from "../share.ts";

let template: Workspace;
const children = new Set<ChildProcess>();
beforeAll(async () => {
  template = await prepareDay();
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  killAll();
  await removeAll();
});

const owner = (pid: number) => [pid, ...below(pid)].find((one) => /main\.ts start/.test(commandOf(one))) ?? 0;

describe.concurrent("a suspended owner", () => {
  test.each(share(["pay", "send", "wire"] as const, 3, String))(
    "in the middle of %s, for 13 s, while a command takes over: it is paid once, and the run ends",
    async (act) => {
      const one = madeOf(template);
      const day = await open(one);
      const { promise: thawed, resolve: thaw } = Promise.withResolvers<void>();
      day.careful.until = thawed;
      const paying = ACTS[act](day);
      // Its intent is recorded and the plugin is at work: it pays some tenths of a second later.
      await day.until(async () => (await day.runs(act))[0]?.status === "running" || (await day.runs(act))[0]?.reason === "slow_call");
      const frozen = owner(day.pid());
      signal(frozen, "SIGSTOP");
      const began = performance.now();
      const taken = await day.command("run", "quick");
      expect(taken.code, taken.said).toBe(0);
      await sleep(Math.max(0, 13_000 - (performance.now() - began)));
      signal(frozen, "SIGCONT");
      await sleep(2000);
      thaw();
      await paying;
      await day.stop();
      expect(one.bank()).toEqual([act]);
    },
    120_000,
  );

  test("an owner suspended in a write to the store is ended by the process that takes over", async () => {
    const one = await workspace();
    const child = owning(one, `opened.database.db.exec("BEGIN IMMEDIATE"); process.kill(process.pid, "SIGSTOP");`);
    await stopped(child);
    const next = await host(one, { clock: { now: () => Date.now() + 20_000 } });
    expect((await run(next, "quick")).status).toBe("done");
    expect(child.signalCode).toBe("SIGKILL");
  });

  test("a suspended process that a forged row names as the owner is left alone", async () => {
    const one = madeOf(template);
    const database = new DatabaseSync(join(one.dir, ".cleared/store.db"));
    const other = spawn("sleep", ["600"]);
    children.add(other);
    other.kill("SIGSTOP");
    await stopped(other);
    for (const owner of ["", `${other.pid}:1/forged`]) {
      if (database.isTransaction) database.exec("ROLLBACK");
      database.prepare("INSERT OR REPLACE INTO lease VALUES (1, ?, ?, 1, 0)").run(owner, other.pid ?? 0);
      database.exec("BEGIN IMMEDIATE");
      await expect(host(one), owner).rejects.toMatchObject({ code: "OWNER_BUSY" });
      expect(standsStill(other.pid ?? 0)).toBe(true);
    }
    database.close();
  });

  test("an owner suspended with the index lock allows commits after the lease, and completes nothing when it resumes", async () => {
    const one = await workspace();
    const script = `
      const git = await createGit(one, { branch: () => "main", reached: (stage) => stage === "moved" && process.kill(process.pid, "SIGSTOP") });
      const end = await git.commit({ message: "import: mine", trailers: {}, build: async () => new Map([["data/x.txt", "mine\\n"]]) }).catch((error) => error.code);
      process.stdout.write(JSON.stringify(end)); process.exit(0);`;
    const child = owning(one, script);
    let said = "";
    child.stdout?.on("data", (text) => (said += String(text)));
    await stopped(child);
    const next = await host(one, { clock: { now: () => Date.now() + 20_000 } });
    const commit = () =>
      next.git.commit({ message: "import: after", trailers: {}, build: async () => new Map([["data/x.txt", "after\n"]]) });
    // While the lock may be at work it is waited for; on a busy machine that time may be over already.
    let made = await commit();
    for (let tries = 0; made.status === "blocked" && tries < 30; tries++) made = await commit();
    expect(made.status).toBe("committed");
    const over = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGCONT");
    await over;
    expect(said).toContain('"OWNER_FENCED"');
    expect([one.git("status", "--porcelain"), one.git("log", "-2", "--format=%s"), one.read("data/x.txt")]).toEqual([
      "",
      "import: after\nimport: mine\n",
      "after\n",
    ]);
  });

  test("a suspended owner does not prevent another start, which has its own page and keeps its socket when the first resumes", async () => {
    const one = madeOf(template);
    one.commit({ "config.yaml": one.read("config.yaml").replace("port: 0", `port: ${20_000 + (process.pid % 20_000)}`) });
    const day = await open(one);
    const frozen = owner(day.pid());
    signal(frozen, "SIGSTOP");
    const second = await open(one);
    expect(second.said()).toMatch(/is suspended and holds port/);
    signal(frozen, "SIGCONT");
    await sleep(4000);
    expect(await second.call("progress", {})).toBeDefined();
    expect(day.said()).toMatch(/runs here already/);
    await second.stop();
  });
});

/** A process of its own that owns the workspace and then does this. */
function owning(one: Workspace, then: string): ChildProcess {
  const from = (path: string) => JSON.stringify(join(import.meta.dirname, "../../runtime", path));
  const file = `${one.dir}-owning.ts`;
  confirm(one.dir);
  const code = `import { openHost } from ${from("app/open-host.ts")};\nimport { createGit } from ${from("workspace/git/git.ts")};
const one = ${JSON.stringify(one.dir)};\nconst opened = await openHost(one, { mode: "owner" });\n${then}\n`;
  writeFileSync(file, code);
  const child = spawn(process.execPath, [file], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null" },
  });
  children.add(child);
  return child;
}

async function stopped(child: ChildProcess): Promise<void> {
  for (let i = 0; i < 2000 && !standsStill(child.pid ?? 0); i++) await sleep(10);
}
