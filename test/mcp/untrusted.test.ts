/** What a tool server that nobody has called trusted finds of this machine, tried from inside. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wayOfServer } from "../../runtime/sandbox/jail.ts";
import { folder, hostile, run } from "./pool.ts";

const CLASSES = ", tools: {get_invoice: {class: read}, pay_invoice: {class: mutate}}";
const jailed = process.platform === "linux" && (await wayOfServer(process.cwd())).filter !== null;

describe.runIf(jailed)("in the jail", () => {
  const [state, secret] = [process.env["XDG_STATE_HOME"], join(folder(), "state")];
  beforeAll(() => {
    mkdirSync(join(secret, "cleared"), { recursive: true });
    writeFileSync(join(secret, "cleared/key.pem"), "private");
    process.env["XDG_STATE_HOME"] = secret;
  });
  afterAll(() => {
    if (state === undefined) delete process.env["XDG_STATE_HOME"];
    else process.env["XDG_STATE_HOME"] = state;
  });

  const probed = async (trusted: boolean) => {
    const bad = hostile("probe", CLASSES, 10_000, { trusted });
    mkdirSync(join(bad.dir, ".cleared"));
    mkdirSync(join(bad.dir, ".git/hooks"), { recursive: true });
    writeFileSync(join(bad.dir, ".cleared/approver.key"), "private");
    writeFileSync(join(bad.dir, "trust.yaml"), "plugins: []\n");
    const given = { dir: bad.dir, pid: process.pid, secret: join(secret, "cleared/key.pem") };
    const told = (await run(bad.trust, bad).call("bad/get_invoice", given)).result as Record<string, unknown>;
    return { told, dir: bad.dir };
  };

  test("an untrusted server finds no state, no keys, no sockets and no other process, and cannot write what others act on", async () => {
    const { told, dir } = await probed(false);
    expect(told).toMatchObject({
      state: "",
      key: "ENOENT",
      own: "ENOENT",
      hook: "EROFS",
      trust: "EROFS",
      file: "done",
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
    expect(readFileSync(join(dir, "mine.txt"), "utf8")).toBe("mine");
  });

  test("a trusted one is its user's own program", async () => {
    const { told } = await probed(true);
    expect(told).toMatchObject({ state: "approver.key", key: "private", own: "private", hook: "done", trust: "done", signal: true });
  });
});
