/** Secrets: sealed on disk, named in trust.yaml, put in at the connection, and in nothing that comes back. */
import type { ClearedError } from "../../runtime/kernel/errors.ts";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { openSecrets, readSecrets } from "../../runtime/workspace/settings/secrets.ts";
import { cleared, workspace as init, shell } from "../cli/command-line.ts";
import { folder, hostile, run } from "./pool.ts";

afterEach(() => {
  delete process.env["CLEARED_AGE_IDENTITY"];
});

const VALUE = "correct horse/battery+staple";

function workspace(): string {
  const dir = folder();
  mkdirSync(join(dir, ".cleared"));
  return dir;
}

test("a secret is set, listed by name, read and removed; the files are readable only by their owner", async () => {
  const dir = workspace();
  const secrets = openSecrets(dir);
  expect(await secrets.names()).toEqual([]);
  await secrets.set("erp_token", VALUE);
  await secrets.set("crm", `${VALUE}\nsecond line`);
  expect(await openSecrets(dir).names()).toEqual(["crm", "erp_token"]);
  expect((await readSecrets(dir))("crm")).toBe(`${VALUE}\nsecond line`);
  for (const file of [".cleared/secrets.age", ".cleared/secrets.key"]) {
    expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(dir, file), "latin1")).not.toContain("horse");
  }
  await secrets.remove("crm");
  expect(await secrets.names()).toEqual(["erp_token"]);
  const secret = await readSecrets(dir);
  expect(() => secret("erp_tokn")).toThrow(/Did you mean "erp_token"/);
  await expect(secrets.remove("crm")).rejects.toMatchObject({ code: "SECRET_MISSING" });
});

test("an invalid name or value is refused, with the reason", async () => {
  const secrets = openSecrets(workspace());
  await expect(secrets.set("../x", VALUE)).rejects.toMatchObject({ code: "USAGE" });
  await expect(secrets.set("pin", "1234")).rejects.toMatchObject({ code: "USAGE", message: expect.not.stringContaining("1234") });
});

test("an identity file or passphrase file of CLEARED_AGE_IDENTITY opens them, another does not", async () => {
  const dir = workspace();
  const phrase = join(folder(), "phrase");
  writeFileSync(phrase, "a passphrase of some length\n");
  process.env["CLEARED_AGE_IDENTITY"] = phrase;
  await openSecrets(dir).set("erp_token", VALUE);
  expect(existsSync(join(dir, ".cleared/secrets.key"))).toBe(false);
  expect((await readSecrets(dir))("erp_token")).toBe(VALUE);
  writeFileSync(phrase, "another passphrase\n");
  await expect(readSecrets(dir)).rejects.toMatchObject({ code: "SECRET_MISSING", message: expect.stringContaining("another identity") });
});

test("a server gets the secret it is given, and its answers come back without it", async () => {
  const bad = hostile("secret", `, env: {TOKEN: "secret:erp_token"}`);
  const { call } = run(bad.trust, { dir: bad.dir, secrets: { erp_token: VALUE } });
  const { result } = await call("bad/get_invoice", {});
  expect(result).toMatchObject({
    env: { TOKEN: "[secret:erp_token]" },
    header: "Bearer [secret:erp_token]",
    encoded: "[secret:erp_token]",
  });
  expect(JSON.stringify(result)).not.toContain("horse");
  await expect(call("bad/get_invoice", { fail: true })).rejects.toMatchObject({
    message: "bad/get_invoice: cannot use [secret:erp_token]",
  });
});

test("a failed write, a clipped message and joined lines show no secret either", async () => {
  const bad = hostile("secret", `, env: {TOKEN: "secret:erp_token"}`);
  const long = `-----BEGIN KEY-----\n${VALUE}\n${VALUE.toUpperCase()}\n-----END KEY-----`;
  for (const [erp_token, pad] of [VALUE, long].flatMap((one) => [0, 440, 475].map((at) => [one, at] as const))) {
    const { call } = run(bad.trust, { dir: bad.dir, secrets: { erp_token } });
    const wordsOf = (error: Error) => JSON.stringify([error.message, (error as ClearedError).data]);
    const read = call("bad/get_invoice", { fail: true, pad }).catch(wordsOf);
    for (const said of [await read, await call("bad/pay_invoice", { fail: true, pad }).catch(wordsOf)]) {
      expect(said).toContain("cannot use [secret:erp_token]");
      expect(said).not.toMatch(/horse|battery|BEGIN/i);
    }
  }
});

test("`cleared secrets` reads from standard input and prints names only", async () => {
  const dir = await init();
  const set = await shell(dir, `printf '%s\\n' '${VALUE}' | cleared secrets set erp_token`);
  expect(set).toMatchObject({ code: 0 });
  expect((await cleared(dir, "secrets", "list", "--json")).json()).toEqual(["erp_token"]);
  expect((await readSecrets(dir))("erp_token")).toBe(VALUE);
  const all = [set.stdout, set.stderr, (await cleared(dir, "secrets", "remove", "nope")).stderr].join();
  expect(all).not.toContain("horse");
  expect(await cleared(dir, "secrets", "export")).toMatchObject({ code: 2 });
});

test("an address with a password is refused for --tools: it would be stored with the run", async () => {
  const dir = await init();
  const refused = await cleared(dir, "run", "categorize", "--tools", "http://ann:hunter2222@127.0.0.1:9/");
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("no user name or password") });
  expect(refused.stderr).not.toContain("hunter");
});
