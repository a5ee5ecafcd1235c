/** A new workspace from the starter files at the top of this repository. */
import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { parseHeader } from "../../runtime/scripts/header.ts";
import { validateInput } from "../../runtime/scripts/fields.ts";
import { parseConfig, parseTrust } from "../../runtime/workspace/settings/config.ts";
import { limitsFor } from "../../runtime/workspace/settings/limits.ts";
import { createGit } from "../../runtime/workspace/git/git.ts";
import { initWorkspace } from "../../runtime/workspace/init.ts";
import { keyFile } from "../../runtime/workspace/own-folders.ts";

const STARTER = resolve(import.meta.dirname, "../..");
let place: string;
let dir: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "cleared-init-"));
  dir = join(place, "my books");
  process.env["GIT_CONFIG_GLOBAL"] = "/dev/null";
  process.env["HOME_BEFORE"] = process.env["HOME"];
  process.env["HOME"] = place;
});
afterEach(() => {
  vi.unstubAllEnvs();
  process.env["HOME"] = process.env["HOME_BEFORE"];
  delete process.env["HOME_BEFORE"];
  delete process.env["GIT_CONFIG_GLOBAL"];
  rmSync(place, { recursive: true, force: true });
});

const sh = (command: string, ...args: string[]): string => execFileSync(command, args, { cwd: dir, encoding: "utf8" });

test("a workspace has the starter's files, its own repository, one commit and a clean tree", async () => {
  await initWorkspace(dir, { name: 'Acme "Consulting": LLC # 1', from: STARTER, person: "Pat O'Neil" });
  expect(sh("git", "status", "--porcelain")).toBe("");
  expect(sh("git", "log", "--format=%s %an")).toBe('bootstrap: books of Acme "Consulting": LLC # 1 Pat O\'Neil\n');
  const tracked = sh("git", "ls-files").trim().split("\n");
  expect(tracked).toEqual(
    expect.arrayContaining([
      "agents/ingest.ts",
      "config.yaml",
      "trust.yaml",
      "main.journal",
      "import/.gitkeep",
      "importers/chase-checking.yaml",
      "scripts/split_amount.ts",
    ]),
  );
  expect(tracked.filter((path) => /^(runtime|primitives|test|\.cleared|cleared)/.test(path))).toEqual([]);
  const config = parseConfig(readFileSync(join(dir, "config.yaml"), "utf8"));
  expect(config.business.name).toBe('Acme "Consulting": LLC # 1');
  expect(config.thresholds["auto_confirm"]).toBe(0.95);
  const git = await createGit(dir, { branch: () => config.branch });
  expect(await git.blockedBy()).toBeNull();
  await git.close();
});

test.each(["PREFIX", "EDITOR", "PAGER", "SSH_ASKPASS", "GIT_DIR", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF"])(
  "a user who has %s set gets a workspace",
  async (name) => {
    vi.stubEnv(name, "/usr");
    await initWorkspace(dir, { name: "Acme", from: STARTER, person: "Pat" });
    vi.unstubAllEnvs();
    expect(sh("git", "status", "--porcelain")).toBe("");
  },
);

test("the person's private key is outside of the workspace and its public half in trust.yaml", async () => {
  await initWorkspace(dir, { name: "Acme", from: STARTER, person: "Pat" });
  const trust = parseTrust(readFileSync(join(dir, "trust.yaml"), "utf8"));
  const file = keyFile(trust.people[0]?.key ?? "");
  expect(file.startsWith(dir)).toBe(false);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(dir, ".cleared")).filter((name) => name.endsWith(".key"))).toEqual([]);
  const held = createPublicKey(createPrivateKey(readFileSync(file, "utf8")));
  expect(trust.people).toEqual([{ name: "Pat", key: held.export({ type: "spki", format: "der" }).toString("base64"), roles: [] }]);
  expect(limitsFor(trust, "ingest")).toMatchObject({ memory_mb: 64, cpu_ms: 1000, wall_ms: 2500, calls: 250_000, source_bytes: 65_536 });
});

test("the launcher runs the product by its absolute path from any folder", async () => {
  const product = join(place, "it's a product");
  mkdirSync(join(product, "bin"), { recursive: true });
  for (const name of ["config.yaml", "trust.yaml", "main.journal"]) writeFileSync(join(product, name), readFileSync(join(STARTER, name)));
  writeFileSync(join(product, "bin/cleared.js"), "console.log(process.argv.slice(2).join('|'))");
  await initWorkspace(dir, { name: "Acme", from: product, person: "Pat" });
  expect(execFileSync(join(dir, "cleared"), ["run", "a b"], { cwd: "/", encoding: "utf8" })).toBe("run|a b\n");
});

test("a folder with contents, or a file, is refused and unchanged", async () => {
  mkdirSync(dir);
  writeFileSync(join(dir, "mine.txt"), "x");
  const options = { name: "Acme", from: STARTER, person: "Pat" };
  await expect(initWorkspace(dir, options)).rejects.toMatchObject({ code: "WORKSPACE_EXISTS", message: /mine\.txt/ });
  await expect(initWorkspace(join(dir, "mine.txt"), options)).rejects.toMatchObject({ code: "WORKSPACE_EXISTS" });
  await expect(initWorkspace(join(dir, "mine.txt/below"), options)).rejects.toMatchObject({ code: "WORKSPACE_EXISTS" });
  expect(readdirSync(dir)).toEqual(["mine.txt"]);
});

test("a failed set-up leaves nothing behind", async () => {
  // Without a place: a command would quote that line of the workspace in which it was typed.
  const refused = (message: RegExp) => ({ code: "USAGE", message: expect.stringMatching(message), at: undefined });
  await expect(initWorkspace(dir, { name: " ", from: STARTER, person: "Pat" })).rejects.toMatchObject(refused(/^business\.name: write/));
  await expect(initWorkspace(dir, { name: "A", from: STARTER, person: "runtime" })).rejects.toMatchObject(refused(/^people.*another name/));
  await expect(initWorkspace(dir, { name: "Acme", from: join(place, "none"), person: "Pat" })).rejects.toThrow();
  expect(existsSync(dir)).toBe(false);
});

test("the starter's scripts have valid headers, and so does the seed's port", () => {
  const ingest = parseHeader(readFileSync(join(STARTER, "agents/ingest.ts"), "utf8"), "agents/ingest.ts");
  expect(ingest).toMatchObject({ name: "Daily Ingest", trigger: ["schedule", "file_watch"], schedule: "0 6 * * *", watch: "import/" });
  const split = parseHeader(readFileSync(join(STARTER, "scripts/split_amount.ts"), "utf8"), "scripts/split_amount.ts");
  expect(validateInput(split, { amount: "100.00", parts: 3 })).toEqual({ amount: "100.00", parts: 3 });
  expect(parseHeader(readFileSync(join(STARTER, "test/fixtures/seed-ingest.ts"), "utf8"), "agents/ingest.ts").uses).toContain("journal");
});

test("hledger and Ledger accept the starter's chart of accounts in their strict modes", async ({ skip }) => {
  await initWorkspace(dir, { name: "Acme", from: STARTER, person: "Pat" });
  for (const [tool, args] of [
    ["hledger", ["-f", "main.journal", "check", "-s"]],
    ["ledger", ["-f", "main.journal", "--pedantic", "--strict", "bal"]],
  ] as const) {
    try {
      execFileSync(tool, args, { cwd: dir, env: { ...process.env, LC_ALL: "C.UTF-8" }, stdio: "pipe" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") skip(`${tool} is not installed`);
      throw error;
    }
  }
});
