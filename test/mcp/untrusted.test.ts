/** What a tool server that nobody has called trusted finds of this machine, tried from inside. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { whyNoJail } from "../../tools/system-tools.ts";
import { listen } from "../../runtime/outside/http.ts";
import { createStatusApp } from "../../runtime/web/app.ts";
import { confirm } from "../confirm.ts";
import { createFacts, NOW } from "../web/busy-day.ts";
import { folder, hostile, run } from "./pool.ts";

const CLASSES = ", tools: {get_invoice: {class: read}, pay_invoice: {class: mutate}}";
const noJail = whyNoJail();
/** By a mount, or because the temporary folder of this test is not there. */
const refused = expect.stringMatching(/^(?:EACCES|EROFS|ENOENT)$/);

test.for([false, true])("a tool server (trusted: %s) gets nothing from the status page, even with a browser's cookie", async (trusted) => {
  const facts = createFacts();
  const site = await listen(createStatusApp(facts, { now: () => NOW }), 0);
  try {
    const bad = hostile("browse", CLASSES, 10_000, { trusted });
    const asked = run(bad.trust, bad);
    const token = /name="token" value="([^"]+)"/.exec(await (await fetch(site.url)).text())?.[1] ?? "";
    const headers = { cookie: `cleared=${"a".repeat(43)}`, origin: site.url, "content-type": "application/x-www-form-urlencoded" };
    for (const request of [
      { path: site.url },
      { path: `${site.url}/runs/run_02fail`, headers },
      { path: `${site.url}/cards/7`, headers, method: "POST", body: `token=${token}&decision=approved` },
    ])
      expect((await asked.call("bad/get_invoice", request)).result).toMatch(/^403 (?!.*(?:INV-7|ACME|run_02fail))/s);
    expect(facts.answers).toEqual([]);
  } finally {
    await site.close();
  }
});

describe("in the jail", () => {
  beforeEach(({ skip }) => skip(noJail !== null, noJail ?? ""));
  afterEach(() => void vi.unstubAllEnvs());
  const probed = async (trusted: boolean, linked = false) => {
    const bad = hostile("probe", CLASSES, 10_000, { trusted });
    const [real, link] = [folder(), join(folder(), "home")];
    symlinkSync(real, link);
    const home = linked ? link : real;
    // Not in the temporary folder, which a jailed server finds empty.
    const other = mkdtempSync("/var/tmp/cleared-other-");
    onTestFinished(() => rmSync(other, { recursive: true }));
    // Set and empty counts as not set.
    const names = { HOME: home, XDG_STATE_HOME: "", CLEARED_KEY: join(home, "mine.pem"), XDG_RUNTIME_DIR: home };
    for (const [name, value] of Object.entries(names)) vi.stubEnv(name, value);
    writeFileSync(join(other, "trust.yaml"), "plugins: []\n");
    confirm(other);
    writeFileSync(join(other, ".cleared/secrets.key"), "private");
    const own = [".local/state/cleared/key.pem", "cleared/a.sock", "mine.pem"].map((name) => join(home, name));
    const secret = [...own, join(other, ".cleared/secrets.key")];
    for (const file of own) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, "private");
    }
    mkdirSync(join(bad.dir, ".cleared"));
    mkdirSync(join(bad.dir, ".git/hooks"), { recursive: true });
    writeFileSync(join(bad.dir, ".cleared/approver.key"), "private");
    writeFileSync(join(bad.dir, "trust.yaml"), "plugins: []\n");
    mkdirSync(join(bad.dir, "data/mail"), { recursive: true });
    const given = { dir: bad.dir, pid: process.pid, secret };
    const told = (await run(bad.trust, bad).call("bad/get_invoice", given)).result as Record<string, unknown>;
    return { told, dir: bad.dir };
  };

  test.for([false, true])(
    "an untrusted server finds no state, keys, sockets or other processes, and cannot write what others act on (home is a link: %s)",
    async (linked) => {
      const { told, dir } = await probed(false, linked);
      expect(told).toMatchObject({
        state: "",
        key: "ENOENT",
        own: ["ENOENT", "ENOENT", refused, "ENOENT"],
        hook: "EROFS",
        trust: "EROFS",
        launcher: "EROFS",
        file: "EROFS",
        settings: refused,
        product: "EROFS",
        temporary: "mine",
        writes: "done",
        bus: "",
        signal: "ESRCH",
        parent: "ENOENT",
        capabilities: "0000000000000000",
        bounding: "0000000000000000",
        no_new_privs: "1",
        seccomp: "2",
      });
      expect(readFileSync(join(dir, "trust.yaml"), "utf8")).toBe("plugins: []\n");
      expect(existsSync(join(dir, ".git/hooks/pre-commit"))).toBe(false);
      expect(readFileSync(join(dir, "data/mail/mine.txt"), "utf8")).toBe("mine");
    },
  );

  test.for(["data", "data/mail"])(
    "nothing is written through a link that arrived in the place of a folder of writes: (%s)",
    async (link) => {
      const bad = hostile("probe", CLASSES, 10_000, { trusted: false });
      const elsewhere = folder();
      mkdirSync(dirname(join(bad.dir, link)), { recursive: true });
      symlinkSync(elsewhere, join(bad.dir, link));
      const asked = run(bad.trust, bad).call("bad/get_invoice", { dir: bad.dir, pid: process.pid, secret: [] });
      await expect(asked).rejects.toMatchObject({
        code: "TOOL_DOWN",
        message: expect.stringMatching(`^bad: The folder "data/mail" in writes: is behind a link, .*/${link}\\.`),
      });
      expect([readdirSync(elsewhere), bad.reached()]).toEqual([[], []]);
    },
  );

  test("a file in the place of a folder of writes: is named", async () => {
    const bad = hostile("probe", CLASSES, 10_000, { trusted: false });
    mkdirSync(join(bad.dir, "data"), { recursive: true });
    writeFileSync(join(bad.dir, "data/mail"), "");
    await expect(run(bad.trust, bad).call("bad/get_invoice", {})).rejects.toMatchObject({
      message: expect.stringMatching(/^bad: .*data\/mail in writes: is not a folder/),
    });
  });

  test("a trusted one runs as its user's own program", async () => {
    const { told } = await probed(true);
    expect(told).toMatchObject({
      state: "approver.key",
      key: "private",
      own: ["private", "private", "private", "private"],
      hook: "done",
      trust: "done",
      file: "done",
      signal: true,
    });
  });
});
