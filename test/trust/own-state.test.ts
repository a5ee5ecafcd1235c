/** What is in `.cleared` is never code that a person has confirmed: Cleared and its tool servers write there. And `.git` leads nowhere else. */
import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { readLocal } from "../../runtime/app/local.ts";
import { createSent } from "../../runtime/workspace/settings/sent.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { lookAtTrust } from "../../runtime/workspace/settings/confirmation.ts";
import { placeFile } from "../../runtime/workspace/own-folders.ts";
import { confirm } from "../confirm.ts";
import { type Workspace, closeAll, host, removeAll, workspace } from "../engine/harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const standing = (one: Workspace) => readLocal(one.dir).unconfirmed;

const trusts = (one: Workspace, key: string, value: string) =>
  one.write("trust.yaml", one.read("trust.yaml").replace(new RegExp(`^${key}: .*\\n(?: {2}#.*\\n)*`, "m"), `${key}: ${value}\n`));

const INTO: [way: string, key: string, value: string][] = [
  ["a plugin", "plugins", "[.cleared/bank.ts]"],
  ["a program", "mcp", "{erp: {command: .cleared/run}}"],
  ["a program's file", "mcp", "{erp: {command: node, args: [.cleared/srv.mjs]}}"],
  ["a file that does not exist yet", "mcp", "{erp: {command: node, args: [--no-warnings, ./.cleared/later.mjs]}}"],
  ["data as a program", "mcp", "{erp: {command: node, args: [.cleared/erp.db]}}"],
  ["a line of shell", "mcp", '{erp: {command: sh, args: [-c, "cd .cleared && node srv.mjs"]}}'],
  [
    "a variable of the interpreter",
    "mcp",
    '{erp: {command: node, args: [srv.mjs], env: {NODE_OPTIONS: "--require=./.cleared/first.txt"}}}',
  ],
  ["a link to a folder", "mcp", "{erp: {command: node, args: [srv.mjs]}}"],
];

it.for(INTO)("nothing in .cleared is confirmed as %s", async ([way, key, value]) => {
  const one = await workspace({ "srv.mjs": 'import "./lib/x.mjs";\n' });
  for (const file of ["bank.ts", "srv.mjs", "erp.db", "lib/x.mjs", "run"]) one.write(`.cleared/${file}`, "1;\n");
  if (way === "a link to a folder") symlinkSync(".cleared/lib", join(one.dir, "lib"));
  trusts(one, key, value);
  expect(() => confirm(one.dir)).toThrow(expect.objectContaining({ code: "PLUGIN_INVALID", message: expect.stringContaining(".cleared") }));
  expect(standing(one)).not.toBeNull();
});

it("a database that a confirmed program keeps in .cleared may change; a program there, which its code could load, may not", async () => {
  const one = await workspace({ "srv.mjs": 'import "./.cleared/lib/x.mjs";\n' });
  for (const file of ["erp.db", "lib/x.mjs"]) one.write(`.cleared/${file}`, "1;\n");
  trusts(one, "mcp", "{erp: {command: node, args: [srv.mjs, --db, .cleared/erp.db], env: {ERP_DB: .cleared/erp.db}}}");
  confirm(one.dir);
  one.write(".cleared/erp.db", "2;\n");
  one.write(".cleared/types/primitives.d.ts", "2;\n");
  expect(standing(one)).toBeNull();
  one.write(".cleared/lib/x.mjs", "2;\n");
  expect(standing(one)).toBe("changed");
});

it.for<[path: string, text: string, code?: string]>([
  [".cleared/lib/y", 'require("../.cleared/lib/y");\n'],
  [".cleared/notes.txt", "require('../.cleared/notes.txt');\n"],
  [".cleared/cache/z.cjs", 'require(["..", ".cleared", "cache", "z.cjs"].join("/"));\n'],
  [".cleared/types/z.d.ts", 'import(["..", ".cleared", "types", "z.d.ts"].join("/"));\n'],
  [".cleared/lib/y.plugin", "load();\n"],
  ["lib/y", "require(`../lib/y`);\n"],
  ["data/y.txt", 'import x from "../data/y.txt";\n'],
  ["srv/y.txt", 'const load = createRequire(import.meta.url);\nload("./y.txt");\n'],
  ["srv/y.txt", 'import(/* lazily */ "./y.txt");\n'],
  ["lib/my own.txt", 'fork(join(here, "lib", "my own.txt"));\n'],
  ["data/y.txt", "#!/bin/sh\n. ./data/y.txt\n", "srv/run.sh"],
  ["srv/y.csv", '. "$(dirname "$0")/y.csv"\n', "srv/run.sh"],
  ["lib/deep/y.txt", "cd lib/deep && . Y.txt\n", "srv/run.sh"],
  ["srv/later", "exec node later\n", "srv/run.sh"],
  ["agents/more.ts", "exec node agents/more.ts\n", "srv/run.sh"],
  ["srv/y.txt", '{"main": "./y.txt"}\n', "srv/package.json"],
  ["srv/y.txt", 'exec(open("srv/y.txt").read())\n', "srv/run.py"],
  ["srv/y.txt", "require_relative 'y.txt'\n", "srv/run.rb"],
])(
  "what a confirmed program could load is confirmed with it, whatever its name and its place: %s",
  async ([path, text, code = "srv/r.cjs"]) => {
    const one = await workspace({ [code]: text });
    one.write(path, "1;\n");
    if (!path.startsWith(".cleared")) execFileSync("git", ["add", path], { cwd: one.dir });
    trusts(one, "mcp", `{erp: {command: run, args: [${code}]}}`);
    confirm(one.dir);
    expect(lookAtTrust(one.dir).code).toHaveProperty([path]);
    expect(standing(one)).toBeNull();
    one.write(path, "2;\n");
    expect(standing(one)).toBe("changed");
  },
);

it("what a confirmed program names may change where git ignores it, where it is data that git does not track, or Cleared writes it; once the repository tracks it, it may not", async () => {
  const text = `const state = "./state.json", log = "payments.log", books = ["main.journal", "config.yaml", "import/receipts/a.yaml"];\nload(\`out\${state}\`);\n`;
  const one = await workspace({ "srv/r.cjs": text });
  one.write(".gitignore", `${one.read(".gitignore")}/srv/state.json\n`);
  trusts(one, "mcp", "{erp: {command: node, args: [srv/r.cjs]}}");
  const write = () => {
    one.write("srv/state.json", String(Math.random()));
    one.write("payments.log", String(Math.random()));
    one.write("config.yaml", `${one.read("config.yaml")}\n`);
    one.write("main.journal", `${one.read("main.journal")}\n`);
    one.write("import/receipts/a.yaml", String(Math.random()));
    one.write("srv/state", String(Math.random()));
  };
  write();
  confirm(one.dir);
  write();
  expect(standing(one)).toBeNull();
  for (const path of ["srv/state.json", "payments.log"]) {
    execFileSync("git", ["add", "-f", path], { cwd: one.dir });
    expect(standing(one)).toBe("changed");
    execFileSync("git", ["reset", "-q", path], { cwd: one.dir });
  }
});

it("a trust.yaml that an older version accepted, and that is refused now, is no longer confirmed", async () => {
  const one = await workspace();
  confirm(one.dir);
  const file = placeFile("confirmed", one.dir);
  writeFileSync(file, readFileSync(file, "utf8").replace(/"plugins": \[[^\]]*\]/, '"plugins": "all"'));
  expect(standing(one)).toBe("never");
  confirm(one.dir);
  expect(standing(one)).toBeNull();
});

it("nor where .git is a file that names a folder of the workspace", async () => {
  const one = await workspace();
  const outside = `${one.dir} outside.txt`;
  writeFileSync(outside, "mine\n");
  renameSync(join(one.dir, ".git"), join(one.dir, "real"));
  writeFileSync(join(one.dir, ".git"), "gitdir: real\n");
  mkdirSync(join(one.dir, "real/logs"), { recursive: true });
  rmSync(join(one.dir, "real/logs/HEAD"), { force: true });
  symlinkSync(outside, join(one.dir, "real/logs/HEAD"));
  const why = expect.objectContaining({ code: "FOLDER_UNSAFE", message: expect.stringMatching(/real\/logs\/HEAD is a link out of/) });
  for (const open of [() => readLocal(one.dir), () => confirm(one.dir)]) expect(open).toThrow(why);
});

it("no part of the repository is a link to elsewhere, through which git would write or prune; hooks and what git only reads may be", async () => {
  const one = await workspace();
  const [git, outside] = [join(one.dir, ".git"), `${one.dir} outside`];
  mkdirSync(join(outside, "objects"), { recursive: true });
  writeFileSync(join(outside, "notes.txt"), "mine\n");
  for (const [part, to] of [
    ["logs/HEAD", "notes.txt"],
    ["logs/refs/heads/main", "notes.txt"],
    ["logs/refs/heads/ab/main", "notes.txt"],
    ["HEAD", "notes.txt"],
    ["refs/heads/main", "not there"],
    ["objects", "objects"],
    ["objects/ab", "objects"],
    ["objects/pack", "objects"],
  ] as const) {
    rmSync(`${git}.aside`, { recursive: true, force: true });
    cpSync(git, `${git}.aside`, { recursive: true });
    mkdirSync(dirname(join(git, part)), { recursive: true });
    rmSync(join(git, part), { recursive: true, force: true });
    symlinkSync(join(outside, to), join(git, part));
    for (const open of [() => readLocal(one.dir), () => confirm(one.dir), () => host(one)])
      await expect((async () => open())(), part).rejects.toMatchObject({
        code: "FOLDER_UNSAFE",
        message: expect.stringMatching(`${part} is a link out of`),
      });
    rmSync(git, { recursive: true });
    renameSync(`${git}.aside`, git);
  }
  expect(readFileSync(join(outside, "notes.txt"), "utf8")).toBe("mine\n");
  rmSync(join(git, "hooks"), { recursive: true, force: true });
  symlinkSync(outside, join(git, "hooks"));
  mkdirSync(join(git, "info"), { recursive: true });
  rmSync(join(git, "info/exclude"), { force: true });
  symlinkSync(join(outside, "notes.txt"), join(git, "info/exclude"));
  await (await openHost(one.dir, { mode: "look" })).close();
});

it("what is done once is kept whole behind a line that a crash has torn, for this process and the next", async () => {
  const one = await workspace();
  const file = `${placeFile("sent", one.dir)}l`;
  createSent(one.dir).keep("first");
  const open = createSent(one.dir);
  expect(open.has("first")).toBe(true);
  appendFileSync(file, "torn");
  open.keep("second");
  open.keep("third");
  const next = createSent(one.dir);
  expect(["first", "second", "third", "torn"].map((what) => next.has(what))).toEqual([true, true, true, false]);
});
